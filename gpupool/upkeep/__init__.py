"""Maintenance of nodes in service: drain, change, accept and resume them. Slurm keeps the state."""
