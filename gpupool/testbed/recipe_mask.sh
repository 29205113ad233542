#!/bin/sh
# Masks $units and $generators of systemd, and has no log-in ask for the kernel's name.
# shellcheck disable=SC2154 # units and generators are set before it
# shellcheck disable=SC2086 # names, with spaces between

systemctl mask --quiet $units
mkdir -p /etc/systemd/system-generators
for generator in $generators; do ln -sf /dev/null /etc/systemd/system-generators/$generator; done
rm -f /etc/update-motd.d/10-uname
