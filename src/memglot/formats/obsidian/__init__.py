"""Obsidian vaults."""
