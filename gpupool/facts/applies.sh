#!/bin/sh
# Prints what the log of applies $1 and the one before it hold, and first whether an apply holds the lock $2: busy or
# free. Of each log only the end, should it be larger than gpupool lets it grow.

if [ -s "$2" ] && ! flock -n -s "$2" true; then echo busy; else echo free; fi
for log in "$1.1" "$1"; do
  [ ! -f "$log" ] || { tail -c 1048576 -- "$log"; echo; }
done
