"""What the CSV format is made of."""
