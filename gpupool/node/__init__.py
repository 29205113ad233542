"""Shared parts of the programs on nodes: commands with a time limit, atomic files, exit codes of user commands."""
