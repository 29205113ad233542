"""What is done to nodes in service: taken out of it, changed, accepted and given back; Slurm keeps the state."""
