"""What AgentOS's four formats share: the trace, and how it becomes a memory and back."""
