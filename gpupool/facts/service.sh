#!/bin/sh
# Prints systemd's state of units, and the state of the files they read. $1 folder of stamps, $2... units, --, files.
# With tabs: U unit KEY=VALUE, S unit line of its stamp, F sha256 (- if there is no file) mtime path.

stamps=$1 units=; shift
while [ "$1" != -- ]; do
  if [ -e "$stamps"/"$1" ]; then
    while IFS= read -r line; do printf 'S\t%s\t%s\n' "$1" "$line"; done <"$stamps"/"$1"
  fi
  units="$units $1"; shift
done
shift
shown=LoadState,ActiveState,UnitFileState,NeedDaemonReload,InvocationID,InactiveExitTimestamp
# systemctl prints a block for each unit, in the order of the names; names have no blanks
# shellcheck disable=SC2086
systemctl show --timestamp=us+utc -p $shown -- $units | units=$units awk '
  BEGIN { RS = ""; FS = "\n"; split(ENVIRON["units"], unit, " ") }
  { for (at = 1; at <= NF; at++) printf "U\t%s\t%s\n", unit[NR], $at }
  END { exit(split(ENVIRON["units"], unit, " ") > 1 && NR != length(unit)) }' || exit 1
for path in "$@"; do
  shift
  if [ -f "$path" ]; then set -- "$@" "$path"; else printf 'F\t-\t0\t%s\n' "$path"; fi
done
[ $# -eq 0 ] || { stat -L --printf '%.Y\t%n\n' -- "$@"; sha256sum -- "$@"; } | awk -F '\t' '
  NF > 1 { written[$2] = $1; next }
  { path = substr($0, 67); printf "F\t%s\t%s\t%s\n", substr($0, 1, 64), written[path] ? written[path] : 0, path }'
