"""The knowledge graph of the official MCP memory server: its lines, what they mean, and how they are written."""
