#!/bin/bash
# Looks at a node's lock or holds it, as long as a line comes on standard input now and then; what is in a line goes to
# the end of a log, which is begun anew when it is large: the one before is kept as well.
# $1 "look" or "lock", $2 file, $3 who holds it, $4 seconds of silence after which it is free, $5 seconds to wait for it,
# $6 the log.
# Prints "gpupool-clock" and the node's clock, then gpupool-free, "gpupool-busy" and who has it, or gpupool-held.
# shellcheck disable=SC2034 # beats and tries are only counted

act=$1 lock=$2 owner=$3 lease=$4 wait=$5 log=$6
largest=262144 # bytes
date +'gpupool-clock %s.%N'
if [ "$act" = look ]; then # who has ended leaves the file empty, who was killed leaves it to nobody
  if [ -s "$lock" ] && ! flock -n -s "$lock" true; then echo "gpupool-busy $(head -c 200 -- "$lock")"
  else echo gpupool-free; fi
  exit
fi
umask 077; exec 9>>"$lock" || exit
if ! flock -w "$wait" 9; then
  for again in 1 2 3 4 5; do [ -s "$lock" ] && break; sleep 0.2; done
  echo "gpupool-busy $(head -c 200 -- "$lock")"; exit
fi
printf '%s\n' "$owner" > "$lock"
echo gpupool-held
keep() { # line; one that a full disk has cut short stays a line of its own
  mkdir -p -- "${log%/*}"
  if [ -s "$log" ]; then
    [ -z "$(tail -c 1 -- "$log")" ] || echo >>"$log"
    [ "$(stat -c %s -- "$log")" -lt "$largest" ] || mv -fT -- "$log" "$log.1"
  fi
  printf '%s\n' "$1" >>"$log" && sync -d -- "$log"
}
while IFS= read -r -t "$lease" line; do [ -z "$line" ] || keep "$line"; done
: > "$lock"
