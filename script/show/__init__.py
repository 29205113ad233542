"""Demonstrations of a cluster's features on its testbed: one module each, for clusters that have the feature."""
