"""Project memory (`.memory/`) as a format."""
