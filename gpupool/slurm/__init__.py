"""Slurm itself: its notation, its records, its releases and its keys."""
