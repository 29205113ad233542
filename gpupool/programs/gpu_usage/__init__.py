"""gpu_usage: who has how many GPUs, and the service by which all users of a node share what squeue prints.

It runs on heads and compute nodes with nothing but Python's standard library.
"""
