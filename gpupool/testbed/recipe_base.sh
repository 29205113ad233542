#!/bin/sh
# Makes a plain Debian boot as a node: to a login.

rm -f /etc/apt/apt.conf.d/docker-clean /etc/dpkg/dpkg.cfg.d/docker-apt-speedup
systemctl set-default --quiet multi-user.target
: >> /etc/default/locale
