"""Storage of project memory, version 5: names, shapes, hashes, locks and files of `.memory/`."""
