"""The doctor: rules over a frozen snapshot, their findings, and the causes among them; it looks at no host."""
