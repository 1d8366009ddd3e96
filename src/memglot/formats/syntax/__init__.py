"""Readers and writers of the syntaxes formats use: JSON, YAML, CSV, Markdown, SQLite."""
