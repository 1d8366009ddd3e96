"""Project memory: what a project knows about itself, kept in `.memory/` of its repository."""
