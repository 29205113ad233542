"""Compile a Cluster to Slurm's files and accounting entities, as plain data."""
