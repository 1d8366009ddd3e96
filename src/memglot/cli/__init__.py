"""The command line: parse arguments, call `Memory` or project memory, and print the result. One module per command."""
