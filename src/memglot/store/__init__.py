"""Stores: where memories are kept. One contract, several engines."""
