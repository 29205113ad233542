#!/bin/sh
# Disables units without a configuration ($unconfigured), and removes host keys, machine-id and logs.
# shellcheck disable=SC2154 # the caller sets unconfigured
# shellcheck disable=SC2086 # names, with spaces between

for unit in $unconfigured; do systemctl disable --quiet $unit 2>/dev/null || true; done
rm -f /etc/ssh/ssh_host_* /etc/munge/munge.key /var/log/apt/* /var/log/dpkg.log /var/log/alternatives.log
: > /etc/machine-id
rm -f /var/lib/dbus/machine-id
