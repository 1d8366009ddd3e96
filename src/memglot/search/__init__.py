"""Search: parse the query, find candidates, rank them, pack the results."""
