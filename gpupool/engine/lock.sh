#!/bin/bash
# Looks at a node's lock or holds it, as long as a line comes on standard input now and then.
# $1 "look" or "lock", $2 file, $3 who holds it, $4 seconds of silence after which it is free, $5 seconds to wait for it.
# Prints "gpupool-clock" and the node's clock, then gpupool-free, "gpupool-busy" and who has it, or gpupool-held.
# shellcheck disable=SC2034 # beats and tries are only counted

act=$1 lock=$2 owner=$3 lease=$4 wait=$5
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
while read -r -t "$lease" beat; do :; done
: > "$lock"
