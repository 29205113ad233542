"""Checks of live nodes by testinfra: read-only, from the same Cluster that was applied."""
