"""Project memory: what a project knows of itself, kept in `.memory/` of its repository."""
