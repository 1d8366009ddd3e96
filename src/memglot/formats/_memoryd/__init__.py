"""memories.json: its rows, its graph, its audit chain, its large and its sealed bodies."""
