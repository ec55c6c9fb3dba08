"""Dated tables as literal modules: each names its source and its date; imported only by the checks that need it."""
