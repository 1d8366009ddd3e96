"""Saving into project memory: what is asked is read, planned against what is there, and carried out as one change."""
