#!/bin/sh
# Prints "answers", then S| and SlurmdSpoolDir, scontrol's lines about partitions (P|) and nodes (N|), and squeue's lines
# (J|); nothing if no slurmctld answers. $1 seconds to wait for slurmctld, $2 the columns of squeue.

# the second file is the copy that slurmd or sackd gets from the controller
if command -v scontrol >/dev/null && { [ -e "${SLURM_CONF:-/etc/slurm/slurm.conf}" ] || [ -e /run/slurm/conf/slurm.conf ]; } &&
   partitions=$(timeout "$1" scontrol -a show partitions 2>/dev/null); then
  echo answers
  scontrol show config | sed -n 's/^SlurmdSpoolDir *= /S|/p'
  printf '%s\n' "$partitions" | sed 's/^/P|/'
  scontrol show nodes | sed 's/^/N|/'
  squeue -a -h -o "J|$2"
fi
