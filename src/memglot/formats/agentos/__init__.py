"""AgentOS: its JSON, Markdown and SQLite formats."""
