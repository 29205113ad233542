#!/bin/sh
# Prints the entries of the record $1 that are not in $2 ("|PATH|PATH|"): path, what was put there, what is there now.

[ ! -f "$1" ] || while IFS='	' read -r path put; do
  case $2 in *"|$path|"*) continue;; esac
  # a link is not followed: it may lead to a server that is away
  if [ -L "$path" ]; then now="-> $(readlink -- "$path")"
  elif [ -f "$path" ]; then now=$(sha256sum <"$path"); now=${now%% *}
  elif [ -e "$path" ]; then now=other
  else now=; fi
  printf '%s\t%s\t%s\n' "$path" "$put" "$now"
done <"$1"
