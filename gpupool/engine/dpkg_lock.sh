#!/bin/sh
# Prints the ID and the name of the process that has dpkg's lock, unless it is an apt-get of gpupool's.
: "${lock:=/var/lib/dpkg/lock-frontend}"
inode=$(stat -c %i "$lock" 2>/dev/null) || exit 0
holder=$(awk -v end=":$inode" 'substr($6, length($6) - length(end) + 1) == end { print $5; exit }' /proc/locks)
[ -n "$holder" ] && ! grep -qz '^GPUPOOL_APT=' "/proc/$holder/environ" 2>/dev/null || exit 0
printf '%s %s\n' "$holder" "$(cat "/proc/$holder/comm" 2>/dev/null)"
