#!/bin/sh
# Prints all mounts and what systemd knows of units. $1 folder of our unit files, $2... names of units.
# With tabs between: M line of mountinfo, T unit text (in base64) where we have a file, U unit KEY=VALUE...
# Nothing here touches a mounted file system: a server that is down would hang it.

folder=$1; shift
sed 's/^/M\t/' /proc/self/mountinfo
for unit in "$@"; do
  if [ -f "$folder"/"$unit" ]; then printf 'T\t%s\t' "$unit"; base64 -w0 < "$folder"/"$unit"; echo; fi
done
# a block for each, in the order of the names; of a systemd that does not answer, nothing
[ $# = 0 ] || systemctl show -p ActiveState,UnitFileState,NeedDaemonReload -- "$@" | units="$*" awk '
  BEGIN { RS = ""; count = split(ENVIRON["units"], unit, " ") }
  { gsub("\n", " "); printf "U\t%s\t%s\n", unit[NR], $0 }
  END { while (NR < count) printf "U\t%s\t\n", unit[++NR] }'
