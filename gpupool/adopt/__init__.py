"""Adopt a cluster that runs already: read Slurm's files, write an inventory, and compare what it renders with them."""
