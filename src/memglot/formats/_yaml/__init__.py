"""YAML 1.2 core: what a memory tool's YAML means, read as a stream and written for people."""
