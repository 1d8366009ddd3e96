"""What Memory Engine's four formats share."""
