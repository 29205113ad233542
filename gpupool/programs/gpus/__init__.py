"""gpus: compare the GPUs of a node with those that the inventory declares."""
