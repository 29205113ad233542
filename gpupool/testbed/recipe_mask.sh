#!/bin/sh
# Masks $units and $generators of systemd, and removes the message of the day's script that runs uname.
# shellcheck disable=SC2154 # the caller sets units and generators
# shellcheck disable=SC2086 # names, with spaces between

systemctl mask --quiet $units
mkdir -p /etc/systemd/system-generators
for generator in $generators; do ln -sf /dev/null /etc/systemd/system-generators/$generator; done
rm -f /etc/update-motd.d/10-uname
