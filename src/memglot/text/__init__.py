"""Text processing shared by stores, search and project memory: words, languages, patterns, tokens."""
