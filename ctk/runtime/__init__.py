"""`ctk runtime`: from what is asked for and what is there to a plan; writes nothing and prints nothing."""
