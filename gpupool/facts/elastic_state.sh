#!/bin/sh
# Prints scontrol's output about this node if its slurmd runs; else nothing. $1 the node's name in Slurm.

! systemctl is-active --quiet slurmd || timeout 30 scontrol show node "$1" 2>/dev/null || :
