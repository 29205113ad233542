#!/bin/sh
# Prints what scontrol shows of a node, on the node itself while its slurmd runs; else nothing. $1 its name in Slurm.

! systemctl is-active --quiet slurmd || timeout 30 scontrol show node "$1" 2>/dev/null || :
