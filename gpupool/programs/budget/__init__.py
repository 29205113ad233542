"""budget: show how much of their budgets accounts have used; also as a file for the submit plugin.

It runs on heads and controllers, and needs only Python's standard library and Slurm's `sshare`.
"""
