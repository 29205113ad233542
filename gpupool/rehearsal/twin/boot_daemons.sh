#!/bin/sh
# Starts slurmctld and every slurmd in a twin, and ends when slurmctld answers. $nodes: the names of the nodes.
# Daemons do not get this script's standard output: `docker exec` would not end while a daemon has it open.
# shellcheck disable=SC2154 # the caller sets nodes
# shellcheck disable=SC2086 # names of nodes are plain words

set -eu
for node in $nodes; do mkdir -p /var/spool/slurmd/$node; done
slurmctld </dev/null >/var/log/slurm/slurmctld.out 2>&1 || {
  cat /var/log/slurm/slurmctld.out; grep fatal /var/log/slurm/slurmctld.log | tail -n 1; exit 1; } >&2
# -b: slurmd takes the boot time of the host, which is older than this container
start() { slurmd -b -N $node </dev/null >/var/log/slurm/slurmd-$node.out 2>&1; }
# on an overloaded machine a slurmd may fail to start: start it once more
for node in $nodes; do { start || start; } & done
wait
n=0
until timeout 30 scontrol ping 2>/dev/null | grep -q UP; do
  n=$((n+1)); [ $n -lt 400 ] || { echo "slurmctld does not answer: $(grep -E 'error|fatal' \
    /var/log/slurm/slurmctld.log | tail -n 1)" >&2; exit 1; }
  sleep 0.1
done
