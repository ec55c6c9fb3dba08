"""CDI specs as values: what a spec says, which version it needs, whether it is valid; pure, it sees no host."""
