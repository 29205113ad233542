#!/bin/sh
# Starts the slurmd of $node again and waits until the node is idle, or has jobs.
# shellcheck disable=SC2154 # the caller sets node
# shellcheck disable=SC2086 # names of nodes are plain words

# For up to 12 s, slurmctld tries to send to a lost node the order to end its jobs (measured on 24.11: sdiag's agents). A
# slurmd that starts within this time receives the order, which ends the next run of a requeued job. On a cluster, a
# requeued job waits for 120 s, so that this cannot happen; on a twin, it waits for 5 s.
n=0
while sdiag | grep -q '^Agent thread count: *[1-9]'; do
  n=$((n+1)); [ $n -lt 150 ] || break
  sleep 0.2
done

slurmd -b -N $node </dev/null >/var/log/slurm/slurmd-$node.out 2>&1 || exit 1
scontrol update nodename=$node state=undrain
n=0
until sinfo -a -h -N -n $node -o %T | sort -u | grep -qxE 'idle|mixed|allocated'; do
  n=$((n+1)); [ $n -lt 600 ] || { echo "$node: $(sinfo -h -N -n $node -o '%T %E' | head -n 1)" >&2; exit 1; }
  sleep 0.2
done
