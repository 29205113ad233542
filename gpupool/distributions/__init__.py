"""Distributions of nodes as data: names of packages by purpose, and versions on which settings depend."""
