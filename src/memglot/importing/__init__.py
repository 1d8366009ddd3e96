"""Import: read, plan, apply in batches, summarise, undo."""
