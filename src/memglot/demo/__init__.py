"""A throw-away store with a year of sample memories."""
