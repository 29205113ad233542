"""What a compute node checks of itself, on the node: Python's standard library, scontrol and the node's own tools."""
