"""Tables of any shape, read with a mapping of their columns."""
