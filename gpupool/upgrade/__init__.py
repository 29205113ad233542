"""The upgrade of Slurm to another release on all nodes, in Slurm's order, while jobs run."""
