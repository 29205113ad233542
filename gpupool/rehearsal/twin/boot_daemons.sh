#!/bin/sh
# Starts slurmctld and every slurmd in a twin, and ends when slurmctld answers. $nodes are their names.
# A daemon that keeps our standard output would keep docker from coming back.
# shellcheck disable=SC2154 # nodes is set before it
# shellcheck disable=SC2086 # names of nodes are plain words

set -eu
for node in $nodes; do mkdir -p /var/spool/slurmd/$node; done
slurmctld </dev/null >/var/log/slurm/slurmctld.out 2>&1 || {
  cat /var/log/slurm/slurmctld.out; grep fatal /var/log/slurm/slurmctld.log | tail -n 1; exit 1; } >&2
# -b: this container is younger than the machine under it, and Slurm looks at the machine's boot
start() { slurmd -b -N $node </dev/null >/var/log/slurm/slurmd-$node.out 2>&1; }
# where the machine is far too busy, one of many may give up: it is started once more
for node in $nodes; do { start || start; } & done
wait
n=0
until timeout 30 scontrol ping 2>/dev/null | grep -q UP; do
  n=$((n+1)); [ $n -lt 400 ] || { echo "slurmctld does not answer: $(grep -E 'error|fatal' \
    /var/log/slurm/slurmctld.log | tail -n 1)" >&2; exit 1; }
  sleep 0.1
done
