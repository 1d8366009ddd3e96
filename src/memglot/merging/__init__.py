"""Merge versions of memories so that every machine reaches the same result."""
