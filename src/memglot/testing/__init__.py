"""Tools for testing stores and formats, for memglot and its extensions."""
