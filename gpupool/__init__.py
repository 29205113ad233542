"""From one inventory of nodes, labs and storage to a running, pooled GPU cluster on Slurm."""

__version__ = "0.2.0"
