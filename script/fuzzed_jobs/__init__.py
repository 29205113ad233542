"""Random jobs on a real slurmctld, and an independent reckoning of what each of them may hold."""
