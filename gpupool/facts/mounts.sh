#!/bin/sh
# Prints all mounts and systemd's state of units. $1 folder of our unit files, $2... names of units.
# With tabs: M line of mountinfo, T unit line of our file, U unit KEY=VALUE...
# It accesses no mounted file system: with a server that is down, it would hang.

folder=$1; shift
sed 's/^/M\t/' /proc/self/mountinfo
(
  for unit in "$@"; do
    shift
    if [ -f "$folder/$unit" ]; then set -- "$@" "$folder/$unit"; fi
  done
  [ $# = 0 ] || exec awk '{ sub(/.*\//, "", FILENAME); printf "T\t%s\t%s\n", FILENAME, $0 }' "$@"
)
# systemctl prints a block for each unit, in the order of the names; nothing if systemd does not answer
[ $# = 0 ] || systemctl show -p ActiveState,UnitFileState,NeedDaemonReload -- "$@" | units="$*" awk '
  BEGIN { RS = ""; count = split(ENVIRON["units"], unit, " ") }
  { gsub("\n", " "); printf "U\t%s\t%s\n", unit[NR], $0 }
  END { while (NR < count) printf "U\t%s\t\n", unit[++NR] }'
