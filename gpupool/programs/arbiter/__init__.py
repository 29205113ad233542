"""The arbiter: a small service beside slurmctld that completes Slurm's preemption.

It runs on the controllers, and needs only Python's standard library. Only `__main__` runs commands; all other modules
are pure functions.
"""
