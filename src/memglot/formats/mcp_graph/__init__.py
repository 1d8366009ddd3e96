"""The knowledge graph file of the official MCP memory server."""
