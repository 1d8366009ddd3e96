"""Memory Engine: its JSON, NDJSON, YAML and Markdown formats."""
