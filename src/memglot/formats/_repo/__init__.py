"""Project memory in a repository, storage version 5: names, shapes, hashes and places of its files."""
