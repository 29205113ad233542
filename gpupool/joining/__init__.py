"""Nodes that join a cluster (probe, compare, deploy, accept, write the inventory) and nodes that leave it."""
