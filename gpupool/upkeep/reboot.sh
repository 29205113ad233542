#!/bin/sh
# Prints when this system was booted (seconds since 1970), and why it needs a reboot, if it does.

booted=$(($(date +%s) - $(ps -o etimes= -p 1)))
why=
[ ! -e /run/reboot-required ] || why='packages ask for a reboot'
# installed since then: what a site boots instead of the newest is its own affair
newest=$(find /boot -maxdepth 1 -name 'vmlinuz-*' -newerct "@$booted" 2>/dev/null | sort -V | tail -n 1)
if [ -n "$newest" ] && [ "${newest##*/vmlinuz-}" != "$(uname -r)" ]; then
  why="kernel ${newest##*/vmlinuz-} is installed, $(uname -r) runs"
fi
printf '%s %s\n' "$booted" "$why"
