"""Back up the accounting database and slurmctld's state, and check the newest backups.

It runs on nodes and needs only Python's standard library.
"""
