#!/bin/sh
# Ends when every node of a twin has registered and is idle.

n=0
until left=$(sinfo -a -h -N -o '%N %T' | grep -v ' idle$' | sort -u); [ -z "$left" ]; do
  n=$((n+1)); [ $n -lt 1000 ] || {
    log=$(tail -qn 1 "/var/log/slurm/slurmd-${left%% *}.out" "/var/log/slurm/slurmd-${left%% *}.log" 2>/dev/null)
    echo "not idle: $(echo "$left" | tr '\n' ' ' | head -c 300)$(echo "$log" | tr '\n' ' ' | head -c 300)" >&2; exit 1; }
  # on an overloaded machine, a slurmd may end after a successful start
  [ $((n % 100)) -ne 0 ] || echo "$left" | while read -r node _; do
    kill -0 "$(cat "/run/slurmd-$node.pid")" 2>/dev/null ||
      slurmd -b -N "$node" </dev/null >"/var/log/slurm/slurmd-$node.out" 2>&1
  done
  sleep 0.2
done
