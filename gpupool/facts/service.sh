#!/bin/sh
# Prints systemd's state of units, and the state of the files they read. $1 folder of stamps, $2... units, --, files.
# With tabs: M (empty) time when systemd last loaded all unit files, U unit KEY=VALUE, W unit time of its stamp, S unit line
# of its stamp, T socket ActiveState UnitFileState Accept of each socket that starts one of the units, F sha256 (- if there
# is no file) ctime path.
# Times are in Unix time. A file that was copied or moved back has an old mtime, and a new ctime.

stamps=$1 units=; shift
while [ "$1" != -- ]; do
  if [ -e "$stamps"/"$1" ]; then
    printf 'W\t%s\t%s\n' "$1" "$(stat -c %.Y -- "$stamps"/"$1")"
    while IFS= read -r line; do printf 'S\t%s\t%s\n' "$1" "$line"; done <"$stamps"/"$1"
  fi
  units="$units $1"; shift
done
shift
# the first has no value until the first daemon-reload after boot
systemctl show --timestamp=us+utc -p UnitsLoadTimestamp,UnitsLoadFinishTimestamp | awk -F = '
  { at[$1] = $2 } END { load = at["UnitsLoadTimestamp"]; printf "M\t\t%s\n", load ? load : at["UnitsLoadFinishTimestamp"] }'
shown=LoadState,ActiveState,UnitFileState,NeedDaemonReload,InvocationID,InactiveExitTimestamp,ExecMainStartTimestamp,TriggeredBy
# systemctl prints a block for each unit, in the order of the names; names have no blanks
# shellcheck disable=SC2086
all=$(systemctl show --timestamp=us+utc -p $shown -- $units)
printf '%s\n' "$all" | units=$units awk '
  BEGIN { RS = ""; FS = "\n"; split(ENVIRON["units"], unit, " ") }
  { for (at = 1; at <= NF; at++) printf "U\t%s\t%s\n", unit[NR], $at }
  END { exit(split(ENVIRON["units"], unit, " ") > 1 && NR != length(unit)) }' || exit 1
sockets=$(printf '%s\n' "$all" | sed -n 's/^TriggeredBy=//p' | tr ' ' '\n' | grep '\.socket$' | sort -u)
# shellcheck disable=SC2086
[ -z "$sockets" ] || systemctl show -p Id,ActiveState,UnitFileState,Accept -- $sockets | awk '
  BEGIN { RS = ""; FS = "\n"; OFS = "\t" }
  { split("", value)
    for (at = 1; at <= NF; at++) value[substr($at, 1, index($at, "=") - 1)] = substr($at, index($at, "=") + 1)
    print "T", value["Id"], value["ActiveState"], value["UnitFileState"], value["Accept"] }'
for path in "$@"; do
  shift
  if [ -f "$path" ]; then set -- "$@" "$path"; else printf 'F\t-\t0\t%s\n' "$path"; fi
done
[ $# -eq 0 ] || { stat -L --printf '%.Z\t%n\n' -- "$@"; sha256sum -- "$@"; } | awk -F '\t' '
  NF > 1 { written[$2] = $1; next }
  { path = substr($0, 67); printf "F\t%s\t%s\t%s\n", substr($0, 1, 64), written[path] ? written[path] : 0, path }'
