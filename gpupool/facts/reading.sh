#!/bin/sh
# Prints what files hold, and what is kept of them. $1 folder of stamps, $2 unit, $3... files.
# With tabs between: N (now; - where there is none) text in base64 path, K (kept) text in base64 path.

stamps=$1 unit=$2; shift 2
for path in "$@"; do
  if [ -f "$path" ]; then printf 'N\t%s\t%s\n' "$(base64 -w 0 < "$path")" "$path"; else printf -- '-\t\t%s\n' "$path"; fi
done
[ ! -f "$stamps/$unit" ] || tail -n +2 "$stamps/$unit" | while read -r sum path; do
  [ ! -f "$stamps/read/$sum" ] || printf 'K\t%s\t%s\n' "$(base64 -w 0 < "$stamps/read/$sum")" "$path"
done
