"""Test the promises of a cluster with real jobs on its twin, which has all nodes in one container."""
