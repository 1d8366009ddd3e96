"""The programs that agents run in: where each lists its MCP servers, and how one entry is put in and taken out again.

Nothing but that entry changes: all other bytes of a client's file stay as they are.
"""
