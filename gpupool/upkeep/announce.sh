#!/bin/sh
# Writes standard input to a file atomically; removes the file if standard input is empty. $1 the path.

text=$(cat)
if [ -z "$text" ]; then rm -f -- "$1"; exit; fi
mkdir -p -- "${1%/*}" && printf '%s\n' "$text" >"$1.new" && chmod 0644 -- "$1.new" && mv -f -- "$1.new" "$1"
