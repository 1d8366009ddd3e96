"""ChatGPT's export: trees of messages, turned into questions with their answers."""
