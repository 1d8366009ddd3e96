"""The MCP server: what an agent may ask of a store and of a project's memory, by the official SDK."""
