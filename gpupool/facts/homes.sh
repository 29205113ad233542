#!/bin/sh
# Prints "home UID GID MODE KEYS PATH" of each home that is there. $1 the most bytes of keys, $2... homes.
# KEYS: none, odd (not to be read), or ~/.ssh/authorized_keys in base64 with a byte behind it: 1 if it could be read.
# The file is the user's own, who may put anything there: it is read by length, as one word, never through a link (it
# may lead to a server that is away) and never if it is no file.

largest=$1; shift
keys() { # home
  [ ! -L "$1/.ssh" ] && [ ! -L "$1/.ssh/authorized_keys" ] || { echo odd; return; }
  if [ -f "$1/.ssh/authorized_keys" ]; then
    { timeout -s KILL 5 dd if="$1/.ssh/authorized_keys" iflag=nofollow,nonblock,fullblock \
      bs="$((largest + 1))" count=1 2>/dev/null && printf 1 || printf 0; } | base64 -w0
  elif [ -e "$1/.ssh/authorized_keys" ] || { [ -e "$1/.ssh" ] && [ ! -d "$1/.ssh" ]; }; then echo odd
  else echo none; fi
}
stat -c '%u %g %a %n' -- "$@" 2>/dev/null | while read -r uid gid mode home; do
  [ ! -d "$home" ] || printf 'home %s %s %s %s %s\n' "$uid" "$gid" "$mode" "$(keys "$home")" "$home"
done
