"""Tools for testing stores and formats, for this project and for those who extend it."""
