#!/bin/sh
# Defines functions that create, change and delete reservations, and update the record of them; the caller appends calls.
# $record: the path of the record. `finish` fails with one line: slurmctld's refusals, and what to do.

set -u
failed=
# shellcheck disable=SC2154
mkdir -p "${record%/*}"
keep() { # NAME START: record a reservation of gpupool; without START, remove it from the record
  { [ ! -f "$record" ] || awk -v name="$1" '$1 != name' "$record"; [ -z "$2" ] || echo "$1 $2"; } >"$record.$$" &&
    mv -fT "$record.$$" "$record"
}
refused() { # NAME MESSAGE
  case $2 in
  *busy*|*'Nodes required for job'*) hint="jobs would still run there at its start: wait for them, or set a later start, other nodes, or ignore_jobs: true" ;;
  *overlap*) hint='see scontrol show reservation: delete the other one, or set another time or other nodes' ;;
  *'reservation is in use'*|*'in use'*) hint="jobs have asked for it (squeue -R $1): it waits for them, and for the next apply" ;;
  *) hint='see scontrol show reservation, and the log of slurmctld' ;;
  esac
  failed="$failed${failed:+; }reservation $1: slurmctld refuses it: \"$2\" ($hint)"
}
attempt() { # NAME COMMAND…
  name=$1; shift
  output=$("$@" 2>&1) && return
  # some releases print a note after the error
  words=$(printf '%s\n' "$output" | grep -i -m 1 error || printf '%s\n' "$output" | tail -n 1)
  refused "$name" "$(printf '%s' "$words" | sed 's/^[^:]*: //' | cut -c -200)"
  return 1
}
make() { name=$1 start=$2; shift 2; attempt "$name" scontrol create reservation "ReservationName=$name" "$@" && keep "$name" "$start"; }
change() { name=$1 start=$2; shift 2; attempt "$name" scontrol update "ReservationName=$name" "$@" && keep "$name" "$start"; }
remove() { attempt "$1" scontrol delete "ReservationName=$1" && keep "$1" ''; }
replace() { name=$1; remove "$name" && make "$@"; }
finish() { [ -z "$failed" ] || { printf '%s\n' "$failed" >&2; exit 1; }; }
