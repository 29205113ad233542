"""Switches nodes on and off as slurmctld wishes, by Apache Libcloud: a service on the controllers.

Besides Python's standard library it needs Debian's python3-libcloud.
"""
