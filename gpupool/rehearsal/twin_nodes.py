"""Nodes of a twin: waited for, lost and restored, as shell text."""

import shlex

# every node ready, none of them still being registered
IDLE = """
n=0
until left=$(sinfo -a -h -N -o '%N %T' | grep -v ' idle$' | sort -u); [ -z "$left" ]; do
  n=$((n+1)); [ $n -lt 1000 ] || { echo "not idle: $(echo $left | head -c 300)" >&2; exit 1; }
  sleep 0.2
done
"""


def lose(node: str) -> str:
    """Return the text that kills a node's slurmd and all its jobs, and tells slurmctld what it would find out late."""
    return _NODE.replace("@NODE", shlex.quote(node)) + _LOSE


def restore(node: str) -> str:
    """Return the text that starts a node's slurmd again and waits until the node takes jobs, or has some."""
    return _NODE.replace("@NODE", shlex.quote(node)) + _RESTORE


_NODE = """
node=@NODE
"""

# Drained, too: an answer that the node gave before it died may still come, and would put it back to work.
# All at once, or slurmstepd would tell how the job ended. Its number is in the name of its socket.
_LOSE = """
scontrol update nodename=$node state=drain reason=lost
doomed=$(cat /run/slurmd-$node.pid)
for step in /var/spool/slurmd/$node/*_*.*; do
  id=${step##*_}
  doomed="$doomed $(pgrep -f "^slurmstepd: \\[${id%%.*}\\.")"
done
doomed=$(ps -e -o pid= -o ppid= | awk -v doomed="$doomed" '
  BEGIN { count = split(doomed, first); for (n in first) gone[first[n]] = 1 }
  { parent[$1] = $2 }
  END { for (it in parent) { for (at = it; at > 1; at = parent[at]) if (at in gone) { print it; break } } }')
kill -KILL $doomed
# what the jobs left would keep them from running here again: "slurm_script: File exists"
rm -rf /var/spool/slurmd/$node/*_*.* /var/spool/slurmd/$node/job[0-9]*
scontrol update nodename=$node state=down reason=lost
"""

_RESTORE = """
slurmd -b -N $node </dev/null >/var/log/slurm/slurmd-$node.out 2>&1 || exit 1
scontrol update nodename=$node state=undrain
n=0
until sinfo -a -h -N -n $node -o %T | sort -u | grep -qxE 'idle|mixed|allocated'; do
  n=$((n+1)); [ $n -lt 600 ] || { echo "$node: $(sinfo -h -N -n $node -o '%T %E' | head -n 1)" >&2; exit 1; }
  sleep 0.2
done
"""
