"""Differences from the inventory, in files on the nodes and in running daemons. Nothing is reverted."""
