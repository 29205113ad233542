"""gpu_usage: show the GPUs of labs and users; and a service with which the users of a node share squeue's output.

It runs on heads and compute nodes, and needs only Python's standard library.
"""
