"""What an Obsidian vault is made of: notes, their links and tags."""
