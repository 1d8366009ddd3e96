"""The MCP server: tools with which agents use a store and the memory of projects."""
