#!/bin/sh
# Cancels all jobs of a twin, and ends when no job is left and every node is idle.
# It cancels repeatedly, because a job that is being requeued survives scancel.

n=0
while :; do
  left=$(squeue -a -h -o %A -t all -t PD,R,CG,S,CF,RQ,RH,SO,ST,SI | sort -u)
  busy=$(sinfo -a -h -N -o '%N %t' | grep -vE ' (idle|down|drain)[*]?$' | sort -u | wc -l)
  [ -z "$left" ] && [ "$busy" = 0 ] && exit 0
  n=$((n+1)); [ $n -lt 1000 ] || { echo "still there: $(echo "$left" | tr '\n' ' ' | head -c 200), $busy nodes busy" >&2; exit 1; }
  # shellcheck disable=SC2086 # numbers of jobs
  [ -z "$left" ] || [ $((n % 10)) != 1 ] || scancel $left 2>/dev/null
  sleep 0.2
done
