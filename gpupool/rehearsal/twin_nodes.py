"""Nodes of a twin: waited for, lost and restored, as shell text."""

import shlex

# every node ready, none of them still being registered
IDLE = """
n=0
until left=$(sinfo -a -h -N -o '%N %T' | grep -v ' idle$' | sort -u); [ -z "$left" ]; do
  n=$((n+1)); [ $n -lt 250 ] || { echo "not idle: $(echo $left | head -c 300)" >&2; exit 1; }
  sleep 0.2
done
"""


def lose(node: str) -> str:
    """Give the text that kills a node's slurmd and all its jobs, and tells slurmctld what it would find out late."""
    return _NODE.replace("@NODE", shlex.quote(node)) + _LOSE


def restore(node: str) -> str:
    """Give the text that starts a node's slurmd again and waits until the node is idle."""
    return _NODE.replace("@NODE", shlex.quote(node)) + _RESTORE


_NODE = """
node=@NODE
"""

# slurmstepd first, by its socket's name, or it would tell how the job ended; the job's processes have the node's name
# in their environment.
_LOSE = """
kill -KILL "$(cat /run/slurmd-$node.pid)"
for job in /var/spool/slurmd/$node/*_*.*; do
  [ -e "$job" ] || continue
  id=${job##*_}
  pkill -KILL -f "^slurmstepd: \\[${id%%.*}\\."
done
for process in /proc/[0-9]*; do
  tr '\\0' '\\n' 2>/dev/null <$process/environ | grep -qx "SLURMD_NODENAME=$node" && kill -KILL ${process#/proc/}
done
scontrol update nodename=$node state=down reason=lost
exit 0
"""

_RESTORE = """
slurmd -b -N $node </dev/null >/var/log/slurm/slurmd-$node.out 2>&1 || exit 1
n=0
until [ "$(sinfo -a -h -N -n $node -o %T | sort -u)" = idle ]; do
  n=$((n+1)); [ $n -lt 150 ] || { echo "$node: $(sinfo -h -N -n $node -o '%T %E' | head -n 1)" >&2; exit 1; }
  sleep 0.2
done
"""
