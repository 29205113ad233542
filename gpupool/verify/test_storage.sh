#!/bin/sh
# Prints "PATH: why" of each path whose file system does not answer. $1 seconds that each has, $2... paths.
# All at once, so that ten dead ones take as long as one; the look makes mounts that wait for one.

seconds=$1; shift
for path in "$@"; do
  { said=$(timeout -s KILL "$seconds" stat -f -c %T -- "$path" 2>&1) ||
    printf '%s: %s\n' "$path" "$(test -n "$said" && echo "${said##*: }" || echo "no answer in $seconds s")"; } &
done; wait
