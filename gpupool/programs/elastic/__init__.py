"""Switch nodes on and off as slurmctld requests, with Apache Libcloud: a service on the controllers.

Besides Python's standard library it needs Debian's python3-libcloud.
"""
