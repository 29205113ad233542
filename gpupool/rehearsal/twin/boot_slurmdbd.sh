#!/bin/sh
# Starts slurmdbd in a twin, whose MariaDB runs, and ends when it answers.
# A daemon that keeps our standard output would keep docker from coming back.

set -eu
fail() { echo "$*" >&2; exit 1; }
slurmdbd </dev/null >/dev/null 2>&1 || fail "slurmdbd did not start: $(tail -n 1 /var/log/slurm/slurmdbd.log)"
asked() {
  said=$(timeout 30 sacctmgr -nP show cluster 2>&1) && return
  # a slurm.conf that is not one will not become one
  case $said in *fatal:*) fail "slurm.conf: $(echo "$said" | grep -m 1 error)" ;; esac; return 1
}
n=0
until asked; do
  n=$((n+1)); [ $n -lt 800 ] || fail "slurmdbd does not answer: $said"; sleep 0.1
done
