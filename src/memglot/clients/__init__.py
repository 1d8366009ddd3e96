"""Add memglot to, and remove it from, the MCP configuration of clients such as Claude Code.

Only memglot's entry changes; every other byte of a client's file is kept.
"""
