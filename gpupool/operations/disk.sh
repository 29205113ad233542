#!/bin/sh
# Functions for what goes to a node's disk, to stand at the head of a script. Each ends it where the disk takes nothing
# more; the last line on standard error has all of it: what could not be written, why, and on which disk.

lost() { # path what-failed what-a-command-said
  at=$1; until [ -d "$at" ]; do at=${at%/*}; at=${at:-/}; done
  printf '%s\n' "$1: $2: ${3##*: } (on the disk at $(df --output=target -- "$at" 2>/dev/null | tail -n 1))" >&2; exit 1
}
upload() { # file size path; from standard input, and the path is what people know it by
  said=$( { head -c "$2" > "$1"; } 2>&1 ) || lost "$3" "cannot be written" "$said"
}
