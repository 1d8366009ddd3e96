"""Check project memory: what is wrong with its files."""
