#!/bin/sh
# Prints the time of this system's boot (seconds since 1970), and the reason why it needs a reboot, if it does.

booted=$(($(date +%s) - $(ps -o etimes= -p 1)))
why=
[ ! -e /run/reboot-required ] || why='packages need a reboot'
# only kernels installed since the boot: a site may choose to boot an older one
newest=$(find /boot -maxdepth 1 -name 'vmlinuz-*' -newerct "@$booted" 2>/dev/null | sort -V | tail -n 1)
if [ -n "$newest" ] && [ "${newest##*/vmlinuz-}" != "$(uname -r)" ]; then
  why="kernel ${newest##*/vmlinuz-} is installed, $(uname -r) runs"
fi
printf '%s %s\n' "$booted" "$why"
