#!/bin/sh
# Prints `busy` if an apply holds the lock $2, else `free`; then the previous log of applies, $1.1, and the log $1, at most
# the last MiB of each.

if [ -s "$2" ] && ! flock -n -s "$2" true; then echo busy; else echo free; fi
for log in "$1.1" "$1"; do
  [ ! -f "$log" ] || { tail -c 1048576 -- "$log"; echo; }
done
