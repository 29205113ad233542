#!/bin/sh
# Makes a plain Debian boot as a node: to a login, without the units $masked.
# shellcheck disable=SC2154 # masked is set before it
# shellcheck disable=SC2086 # names, with spaces between

rm -f /etc/apt/apt.conf.d/docker-clean /etc/dpkg/dpkg.cfg.d/docker-apt-speedup
systemctl set-default --quiet multi-user.target
systemctl mask --quiet $masked
: >> /etc/default/locale
