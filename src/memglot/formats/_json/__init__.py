"""JSON values out of streams, one at a time."""
