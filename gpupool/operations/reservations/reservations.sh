#!/bin/sh
# Functions that make, change and delete reservations, and keep the record of them; the lines of a run come after.
# Expects $record, its path. `finish` fails with one line that says what slurmctld has refused, and what to do.

set -u
failed=
# shellcheck disable=SC2154
mkdir -p "${record%/*}"
keep() { # NAME START: note that it is ours; without START that it no longer is
  { [ ! -f "$record" ] || awk -v name="$1" '$1 != name' "$record"; [ -z "$2" ] || echo "$1 $2"; } >"$record.$$" &&
    mv -fT "$record.$$" "$record"
}
refused() { # NAME WORDS
  case $2 in
  *busy*|*'Nodes required for job'*) hint="jobs would still run there at its start: wait for them, or set a later start, other nodes, or ignore_jobs: true" ;;
  *overlap*) hint='see scontrol show reservation: delete the other one, or set another time or other nodes' ;;
  *'reservation is in use'*|*'in use'*) hint="jobs have asked for it (squeue -R $1): it waits for them, and for the next apply" ;;
  *) hint='see scontrol show reservation, and the log of slurmctld' ;;
  esac
  failed="$failed${failed:+; }reservation $1: slurmctld says \"$2\" ($hint)"
}
attempt() { # NAME COMMAND…
  name=$1; shift
  said=$("$@" 2>&1) && return
  # some releases add a note below
  words=$(printf '%s\n' "$said" | grep -i -m 1 error || printf '%s\n' "$said" | tail -n 1)
  refused "$name" "$(printf '%s' "$words" | sed 's/^[^:]*: //' | cut -c -200)"
  return 1
}
make() { name=$1 start=$2; shift 2; attempt "$name" scontrol create reservation "ReservationName=$name" "$@" && keep "$name" "$start"; }
change() { name=$1 start=$2; shift 2; attempt "$name" scontrol update "ReservationName=$name" "$@" && keep "$name" "$start"; }
remove() { attempt "$1" scontrol delete "ReservationName=$1" && keep "$1" ''; }
replace() { name=$1; remove "$name" && make "$@"; }
finish() { [ -z "$failed" ] || { printf '%s\n' "$failed" >&2; exit 1; }; }
