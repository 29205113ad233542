#!/bin/sh
# Prints what slurmctld has in hand, columns with | between them: "answers" first, then P partition, N node CPUs Gres,
# J job state user account QoS partitions nodes-it-has nodes-it-needs. $1 seconds to wait. Without slurmctld: nothing.

if command -v scontrol >/dev/null && [ -e "${SLURM_CONF:-/etc/slurm/slurm.conf}" ] &&
   partitions=$(timeout "$1" scontrol -a -o show partitions 2>/dev/null); then
  echo answers
  printf '%s\n' "$partitions" | sed -nE 's/^PartitionName=([^ ]+).*/P|\1/p'
  scontrol -o show nodes | awk '/^NodeName=/ { name = cpus = gres = ""
    for (i = 1; i <= NF; i++) { split($i, pair, "="); value = substr($i, length(pair[1]) + 2)
      if (pair[1] == "NodeName") name = value
      if (pair[1] == "CPUTot") cpus = value
      if (pair[1] == "Gres") gres = value }
    print "N|" name "|" cpus "|" gres }'
  squeue -a -h -o 'J|%i|%T|%u|%a|%q|%P|%N|%n'
fi
