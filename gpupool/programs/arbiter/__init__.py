"""The arbiter: a small service beside slurmctld for what Slurm's preemption leaves undone.

It runs on the controllers with nothing but Python's standard library. Everything but `__main__` is data in, data out.
"""
