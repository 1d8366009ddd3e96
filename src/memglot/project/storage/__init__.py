"""Storage of project memory, version 5: paths, schemas, hashes, locks and files of `.memory/`."""
