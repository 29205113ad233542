#!/bin/sh
# Creates or changes a reservation of exactly these nodes for root, from now on and without an end. Without nodes, removes
# the reservation. $1 its name, $2 its nodes as a hostlist, or "". Prints nothing.

exists() { scontrol -o show reservation "$1" 2>/dev/null | grep -q "^ReservationName=$1 "; }

if [ -z "$2" ]; then
  exists "$1" || exit 0
  squeue -h -R "$1" -o %i | xargs -r scancel
  for again in 1 2 3 4 5 6 7 8 9 10; do # a job that is just ending still uses it
    scontrol delete reservationname="$1" 2>/dev/null && exit
    [ "$again" = 10 ] || sleep 1
  done
  scontrol delete reservationname="$1"
elif exists "$1"; then scontrol update reservationname="$1" nodes="$2"
else scontrol create reservationname="$1" starttime=now duration=infinite users=root flags=maint,ignore_jobs nodes="$2"
fi >/dev/null
