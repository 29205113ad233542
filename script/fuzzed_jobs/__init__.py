"""Random jobs on a real slurmctld, and an independent calculation of the resources that each may hold."""
