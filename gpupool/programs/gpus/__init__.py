"""What a node's GPUs are against what the inventory says they are."""
