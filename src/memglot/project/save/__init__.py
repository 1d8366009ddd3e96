"""Save into project memory: parse the request, plan it, and write it as one change."""
