"""Cluster to what a node has besides Slurm's files: names, packages, ssh, mounts, links, devices; as plain data."""
