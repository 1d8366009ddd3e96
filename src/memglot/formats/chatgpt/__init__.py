"""ChatGPT's data export."""
