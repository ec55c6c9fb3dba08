"""What each engine's configuration means: text to text; sees strings, never files."""
