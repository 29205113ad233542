#!/bin/sh
# Makes a Debian with a kernel boot to a login, as a virtual machine.

rm -f /etc/apt/apt.conf.d/docker-clean /etc/dpkg/dpkg.cfg.d/docker-apt-speedup
systemctl set-default --quiet multi-user.target
systemctl enable --quiet systemd-networkd.service systemd-network-generator.service
# dpkg does not sync: an installation need not survive a power cut, and syncs are slow on an emulated machine.
echo force-unsafe-io > /etc/dpkg/dpkg.cfg.d/testbed
# systemd's ConditionNeedsUpdate is false, so its update units do not run at boot
touch /etc/.updated /var/.updated
: >> /etc/default/locale
