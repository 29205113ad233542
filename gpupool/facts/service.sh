#!/bin/sh
# Prints what systemd says of a unit and of the files it reads. $1 unit, $2 folder of stamps, $3... files.
# With tabs between: U KEY=VALUE, S line of the unit's stamp, F sha256 (- where there is none) mtime path.

unit=$1 stamps=$2; shift 2
shown=LoadState,ActiveState,UnitFileState,NeedDaemonReload,InvocationID,InactiveExitTimestamp
systemctl show --timestamp=us+utc -p $shown -- "$unit" | sed 's/^/U\t/'
[ ! -e "$stamps"/"$unit" ] || sed 's/^/S\t/' "$stamps"/"$unit"
for path in "$@"; do
  shift
  if [ -f "$path" ]; then set -- "$@" "$path"; else printf 'F\t-\t0\t%s\n' "$path"; fi
done
[ $# -eq 0 ] || { stat -L --printf '%.Y\t%n\n' -- "$@"; sha256sum -- "$@"; } | awk -F '\t' '
  NF > 1 { written[$2] = $1; next }
  { path = substr($0, 67); printf "F\t%s\t%s\t%s\n", substr($0, 1, 64), written[path] ? written[path] : 0, path }'
