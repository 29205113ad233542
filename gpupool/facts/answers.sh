#!/bin/sh
# Prints "active" if a unit runs; else "up SERVER" for the first server that accepts a connection, or nothing.
# $1 unit, $2 port, $3 number of attempts, one per second, $4... servers.

unit=$1 port=$2 patience=$3; shift 3
systemctl is-active --quiet -- "$unit" && { echo active; set --; }
while [ $# -gt 0 ]; do
  for server in "$@"; do
    timeout 3 bash -c 'exec 3<>"/dev/tcp/$1/$2"' bash "$server" "$port" 2>/dev/null && { echo "up $server"; break 2; }
  done
  patience=$((patience-1)); [ "$patience" -gt 0 ] || break; sleep 1
done
