"""Export, convert, compare and verify memories."""
