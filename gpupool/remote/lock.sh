#!/bin/bash
# Reads the state of a node's lock ("look"), or holds the lock while lines arrive on standard input ("lock"). Lines with
# text are appended to a log. A large log is renamed to LOG.1, and a new one is begun.
# $1 "look" or "lock", $2 the lock's file, $3 the owner, $4 seconds without a line after which the lock is released,
# $5 seconds to wait for the lock, $6 the log.
# Prints "gpupool-clock" and the node's clock; then gpupool-free, gpupool-held, or "gpupool-busy" and the owner.
# shellcheck disable=SC2034 # beats and tries are only counted

act=$1 lock=$2 owner=$3 lease=$4 wait=$5 log=$6
largest=262144 # bytes
date +'gpupool-clock %s.%N'
if [ "$act" = look ]; then # an owner that ended left the file empty; an owner that was killed left it without a lock
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
keep() { # line; starts a new line first if a full disk has truncated the last one
  mkdir -p -- "${log%/*}"
  if [ -s "$log" ]; then
    [ -z "$(tail -c 1 -- "$log")" ] || echo >>"$log"
    [ "$(stat -c %s -- "$log")" -lt "$largest" ] || mv -fT -- "$log" "$log.1"
  fi
  printf '%s\n' "$1" >>"$log" && sync -d -- "$log"
}
while IFS= read -r -t "$lease" line; do [ -z "$line" ] || keep "$line"; done
: > "$lock"
