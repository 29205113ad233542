#!/bin/sh
# Prints the jobs in a backup of slurmctld's state, after trial_start.sh: number, compact state and user, with blanks. A
# slurmctld in a network namespace reads the backup; where that is not possible, the jobs are those with a batch script.
# $1 the path of slurm.conf, $2 the backup.
# shellcheck disable=SC2154 # trial_start.sh sets dir and user

saved=$dir/saved; mkdir "$saved"
tar -xzf "$2" -C "$saved" && chown -R -- "$user" "$saved" || exit 1
start now
case $? in
  0) awk -F'|' '$2 != "CG" { print $5, $2, $3 }' "$dir/now/jobs" ;;
  93) find "$saved"/hash.* -maxdepth 1 -name 'job.*' | sed 's/.*job\.\([0-9]*\)$/\1 - -/' ;;
  *) echo "slurmctld does not start with $2: $(error_messages now | tail -n 1)" >&2; exit 1 ;;
esac
