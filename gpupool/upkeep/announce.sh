#!/bin/sh
# Has the text of standard input as a file, whole or not at all; without text there is none. $1 its path.

text=$(cat)
if [ -z "$text" ]; then rm -f -- "$1"; exit; fi
mkdir -p -- "${1%/*}" && printf '%s\n' "$text" >"$1.new" && chmod 0644 -- "$1.new" && mv -f -- "$1.new" "$1"
