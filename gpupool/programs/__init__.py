"""Programs that run on nodes. They need only Python's standard library."""
