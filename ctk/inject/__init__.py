"""What the engines run while a container starts, below its root and nowhere else; it imports no third-party library."""
