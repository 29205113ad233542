"""Connections from the admin's machine to nodes: OpenSSH's configuration, and the command lines for nodes."""
