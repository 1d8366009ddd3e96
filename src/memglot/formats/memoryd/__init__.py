"""memories.json of memoryd, and the export of mcp-memory-service."""
