"""Text to text, by line, on bytes that stay what they were: JSON and TOML; knows no engine and opens no file."""
