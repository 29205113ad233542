#!/bin/sh
# Prints the reservations that slurmctld has, and those that gpupool has made.
# $1 the record of the latter, $2 "" where none is wanted: without a record there is nothing to ask then.
# A line each, after its kind and a blank: T this node's time, R name and start of the record, S a reservation as
# scontrol says it; X instead of S: why slurmctld does not answer.

unset TZ SLURM_TIME_FORMAT
[ -n "$2" ] || [ -s "$1" ] || set -- "$1" "" none
if [ $# -eq 2 ]; then
  date '+T %Y-%m-%dT%H:%M:%S'
  [ ! -s "$1" ] || sed 's/^/R /' "$1"
  if said=$(timeout 30 scontrol -o show reservation 2>&1); then printf '%s\n' "$said" | sed 's/^/S /'
  else printf 'X %s\n' "$(printf '%s' "$said" | tail -n 1)"; fi
fi
