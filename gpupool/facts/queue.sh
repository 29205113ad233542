#!/bin/sh
# Prints what slurmctld has in hand: "answers" first, then lines of scontrol after P| for partitions and N| for nodes,
# and of squeue after J|. $1 seconds to wait for slurmctld, $2 the columns of squeue. Without slurmctld: nothing.

if command -v scontrol >/dev/null && [ -e "${SLURM_CONF:-/etc/slurm/slurm.conf}" ] &&
   partitions=$(timeout "$1" scontrol -a show partitions 2>/dev/null); then
  echo answers
  printf '%s\n' "$partitions" | sed 's/^/P|/'
  scontrol show nodes | sed 's/^/N|/'
  squeue -a -h -o "J|$2"
fi
