#!/bin/sh
# Prints the words of a node's state in Slurm, joined by +, on the node itself while its slurmd runs; else nothing.
# $1 what Slurm calls the node.

systemctl is-active --quiet slurmd || set --
[ $# -eq 0 ] || timeout 30 scontrol -o show node "$1" 2>/dev/null | sed -n 's/.* State=\([^ ]*\).*/\1/p'
