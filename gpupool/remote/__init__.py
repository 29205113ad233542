"""How the admin's machine reaches nodes: what OpenSSH is started with, and the command line that a node gets."""
