#!/bin/sh
# Configures chrony, if it is installed, so that it runs in a container.

# -x: chrony must not change the clock, which is that of the host
unit=/usr/lib/systemd/system/chrony.service
[ -e $unit ] || unit=/lib/systemd/system/chrony.service
if [ -e $unit ]; then
  mkdir -p /etc/systemd/system/chrony.service.d
  {
    printf '[Unit]\nConditionCapability=\n[Service]\nExecStart=\n'
    sed -n '/^ExecStart=/s/ [$]DAEMON_OPTS/ -x&/p' $unit
  } > /etc/systemd/system/chrony.service.d/container.conf
fi
