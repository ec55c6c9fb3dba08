"""The toolkit's config.toml: its settings as a table, values, edits and modes; text to text, reads no file."""
