#!/bin/sh
# Starts slurmdbd in a twin in which MariaDB runs, and ends when slurmdbd answers.
# Daemons do not get this script's standard output: `docker exec` would not end while a daemon has it open.

set -eu
fail() { echo "$*" >&2; exit 1; }
slurmdbd </dev/null >/dev/null 2>&1 || fail "slurmdbd did not start: $(tail -n 1 /var/log/slurm/slurmdbd.log)"
answers() {
  output=$(timeout 30 sacctmgr -nP show cluster 2>&1) && return
  # with an invalid slurm.conf, retries are useless
  case $output in *fatal:*) fail "slurm.conf: $(echo "$output" | grep -m 1 error)" ;; esac; return 1
}
n=0
until answers; do
  n=$((n+1)); [ $n -lt 800 ] || fail "slurmdbd does not answer: $output"; sleep 0.1
done
