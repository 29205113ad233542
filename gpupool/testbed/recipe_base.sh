#!/bin/sh
# Makes a plain Debian boot to a login, as a node.

rm -f /etc/apt/apt.conf.d/docker-clean /etc/dpkg/dpkg.cfg.d/docker-apt-speedup
systemctl set-default --quiet multi-user.target
: >> /etc/default/locale
