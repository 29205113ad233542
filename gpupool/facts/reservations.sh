#!/bin/sh
# Prints slurmctld's reservations, and gpupool's record of the reservations that it has created.
# $1 the record, $2 "" if no reservation is wanted: then slurmctld is not asked if there is no record.
# Each line begins with its kind and a blank: T this node's time, R name and start in the record, S a reservation in
# scontrol's format; X instead of S: the reason why slurmctld does not answer.

unset TZ SLURM_TIME_FORMAT
[ -n "$2" ] || [ -s "$1" ] || set -- "$1" "" none
if [ $# -eq 2 ]; then
  date '+T %Y-%m-%dT%H:%M:%S'
  [ ! -s "$1" ] || sed 's/^/R /' "$1"
  if output=$(timeout 30 scontrol -o show reservation 2>&1); then printf '%s\n' "$output" | sed 's/^/S /'
  else printf 'X %s\n' "$(printf '%s' "$output" | tail -n 1)"; fi
fi
