"""gpus: compare the GPUs of a node with the GPUs that the inventory declares."""
