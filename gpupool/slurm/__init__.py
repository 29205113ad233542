"""Cluster to Slurm's files and accounting entities, as plain data; the only place that knows Slurm's versions."""
