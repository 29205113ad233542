#!/bin/sh
# Prints the entries of the record $1 that are not in $2 ("|PATH|PATH|"): path, recorded state, current state.

[ ! -f "$1" ] || while IFS='	' read -r path put; do
  case $2 in *"|$path|"*) continue;; esac
  # do not follow a link: it may point to a server that does not answer
  if [ -L "$path" ]; then now="-> $(readlink -- "$path")"
  elif [ -f "$path" ]; then now=$(sha256sum <"$path"); now=${now%% *}
  elif [ -e "$path" ]; then now=other
  else now=; fi
  printf '%s\t%s\t%s\n' "$path" "$put" "$now"
done <"$1"
