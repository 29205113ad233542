"""Another release of Slurm on all nodes, in Slurm's order, while jobs run."""
