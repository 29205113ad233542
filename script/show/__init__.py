"""What a cluster is for, shown on its testbed. Each module shows one thing, to clusters that have it."""
