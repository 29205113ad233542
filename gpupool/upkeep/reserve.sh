#!/bin/sh
# Has a reservation of root's on just these nodes, from now on and without an end; none without nodes.
# $1 its name, $2 its nodes as a hostlist, or "". Prints nothing.

there() { scontrol -o show reservation "$1" 2>/dev/null | grep -q "^ReservationName=$1 "; }

if [ -z "$2" ]; then
  there "$1" || exit 0
  squeue -h -R "$1" -o %i | xargs -r scancel
  for again in 1 2 3 4 5 6 7 8 9 10; do # a job that is just ending holds it
    scontrol delete reservationname="$1" 2>/dev/null && exit
    [ "$again" = 10 ] || sleep 1
  done
  scontrol delete reservationname="$1"
elif there "$1"; then scontrol update reservationname="$1" nodes="$2"
else scontrol create reservationname="$1" starttime=now duration=infinite users=root flags=maint,ignore_jobs nodes="$2"
fi >/dev/null
