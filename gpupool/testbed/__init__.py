"""Nodes as containers: the cluster of an inventory on one machine, with real systemd and sshd in each node."""
