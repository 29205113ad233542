"""Compile a Cluster to a node's other files and states: names, packages, ssh, mounts, links, devices; as plain data."""
