#!/bin/sh
# Disables what is not configured yet ($unconfigured, units) and forgets what is a machine's own.
# shellcheck disable=SC2154 # unconfigured is set before it
# shellcheck disable=SC2086 # names, with spaces between

for unit in $unconfigured; do systemctl disable --quiet $unit 2>/dev/null || true; done
rm -f /etc/ssh/ssh_host_* /etc/munge/munge.key /var/log/apt/* /var/log/dpkg.log /var/log/alternatives.log
: > /etc/machine-id
rm -f /var/lib/dbus/machine-id
