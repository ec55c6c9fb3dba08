"""Reports as text, JSON and Markdown; they decide nothing."""
