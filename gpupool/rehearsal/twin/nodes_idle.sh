#!/bin/sh
# Ends when every node of a twin is ready, none of them still being registered.

n=0
until left=$(sinfo -a -h -N -o '%N %T' | grep -v ' idle$' | sort -u); [ -z "$left" ]; do
  n=$((n+1)); [ $n -lt 1000 ] || {
    said=$(tail -qn 1 "/var/log/slurm/slurmd-${left%% *}.out" "/var/log/slurm/slurmd-${left%% *}.log" 2>/dev/null)
    echo "not idle: $(echo "$left" | tr '\n' ' ' | head -c 300)$(echo "$said" | tr '\n' ' ' | head -c 300)" >&2; exit 1; }
  sleep 0.2
done
