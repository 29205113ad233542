#!/bin/sh
# Kills the slurmd of $node and all its jobs, and sets the node down, because slurmctld detects the loss late.
# The node is drained first: a late answer of the killed slurmd would otherwise return it to service.
# All processes are killed at once, or slurmstepd would report the end of its job; its socket is named after the job.
# shellcheck disable=SC2154 # the caller sets node
# shellcheck disable=SC2086,SC2231 # names of nodes and numbers of processes are plain words

scontrol update nodename=$node state=drain reason=lost
doomed=$(cat /run/slurmd-$node.pid)
for step in /var/spool/slurmd/$node/*_*.*; do
  id=${step##*_}
  doomed="$doomed $(pgrep -f "^slurmstepd: \[${id%%.*}\.")"
done
doomed=$(ps -e -o pid= -o ppid= | awk -v doomed="$doomed" '
  BEGIN { count = split(doomed, first); for (n in first) root[first[n]] = 1 }
  { parent[$1] = $2 }
  END { for (pid in parent) { for (at = pid; at > 1; at = parent[at]) if (at in root) { print pid; break } } }')
kill -KILL $doomed
# with these files, the jobs could not run here again: "slurm_script: File exists"
rm -rf /var/spool/slurmd/$node/*_*.* /var/spool/slurmd/$node/job[0-9]*
scontrol update nodename=$node state=down reason=lost
