#!/bin/sh
# Prints DIRECTORY, tab, JOB for each step of a job that runs here: slurmstepd listens on DIRECTORY/NODE_JOB.STEP, and slurmd
# finds the step by this socket. A user's socket of such a name does not count.

sed -n 's/^[^ ]* [^ ]* [^ ]* 00010000 [^ ]* [^ ]*  *[0-9]* \(\/.*\)$/\1/p' /proc/net/unix | while IFS= read -r path; do
  [ "$(stat -c '%u %F' -- "$path" 2>/dev/null)" = '0 socket' ] || continue
  printf '%s\n' "$path" | sed -nE 's/^(.*)\/[^/]*_([0-9]+)\.[0-9]+(\.[0-9]+)?$/\1\t\2/p'
done | LC_ALL=C sort -u
