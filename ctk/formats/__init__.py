"""Pure knowledge of file and wire formats; it opens no file and knows no command."""
