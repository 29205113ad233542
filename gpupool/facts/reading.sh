#!/bin/sh
# Prints the current and the kept texts of files, in base64. $1 folder of stamps, $2 unit, $3... files.
# With tabs: N text path for a current text (- if there is no file), K text path for a kept text.

stamps=$1 unit=$2; shift 2
for path in "$@"; do
  if [ -f "$path" ]; then printf 'N\t%s\t%s\n' "$(base64 -w 0 < "$path")" "$path"; else printf -- '-\t\t%s\n' "$path"; fi
done
[ ! -f "$stamps/$unit" ] || tail -n +2 "$stamps/$unit" | while read -r sum path; do
  [ ! -f "$stamps/read/$sum" ] || printf 'K\t%s\t%s\n' "$(base64 -w 0 < "$stamps/read/$sum")" "$path"
done
