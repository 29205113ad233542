#!/bin/sh
# Kills the slurmd of $node and all its jobs, and tells slurmctld what it would find out late.
# Drained, too: an answer that the node gave before it died may still come, and would put it back to work.
# All at once, or slurmstepd would tell how the job ended. Its number is in the name of its socket.
# shellcheck disable=SC2154 # node is set before it
# shellcheck disable=SC2086,SC2231 # names of nodes and numbers of processes are plain words

scontrol update nodename=$node state=drain reason=lost
doomed=$(cat /run/slurmd-$node.pid)
for step in /var/spool/slurmd/$node/*_*.*; do
  id=${step##*_}
  doomed="$doomed $(pgrep -f "^slurmstepd: \[${id%%.*}\.")"
done
doomed=$(ps -e -o pid= -o ppid= | awk -v doomed="$doomed" '
  BEGIN { count = split(doomed, first); for (n in first) gone[first[n]] = 1 }
  { parent[$1] = $2 }
  END { for (it in parent) { for (at = it; at > 1; at = parent[at]) if (at in gone) { print it; break } } }')
kill -KILL $doomed
# what the jobs left would keep them from running here again: "slurm_script: File exists"
rm -rf /var/spool/slurmd/$node/*_*.* /var/spool/slurmd/$node/job[0-9]*
scontrol update nodename=$node state=down reason=lost
