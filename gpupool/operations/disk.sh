#!/bin/sh
# Defines functions that write to a node's disk, for the beginning of a script. If that fails, they end the script; the
# last line on standard error has the path, the reason and the disk.

lost() { # path failure output-of-the-command
  at=$1; until [ -d "$at" ]; do at=${at%/*}; at=${at:-/}; done
  printf '%s\n' "$1: $2: ${3##*: } (on the disk at $(df --output=target -- "$at" 2>/dev/null | tail -n 1))" >&2; exit 1
}
upload() { # file size path; writes standard input to the file; messages name the path
  output=$( { head -c "$2" > "$1"; } 2>&1 ) || lost "$3" "cannot be written" "$output"
}
