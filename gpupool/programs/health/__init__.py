"""health: a compute node checks itself. It needs only Python's standard library, scontrol and tools of the node."""
