"""budget: how much of their budgets accounts have used, for users; and the same as a file for the submit plugin.

It runs on heads and controllers with nothing but Python's standard library and Slurm's `sshare`.
"""
