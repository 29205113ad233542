"""Shared parts of the programs on nodes: commands and their answers, files that are replaced, the end of a command."""
