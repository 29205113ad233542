"""Read-only checks of live nodes by testinfra, against the same Cluster that was applied."""
