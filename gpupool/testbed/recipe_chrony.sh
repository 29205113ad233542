#!/bin/sh
# Has chrony run in a container, where it is installed.

# chrony runs, but keeps its hands off the clock (-x): the clock is that of the machine underneath.
unit=/usr/lib/systemd/system/chrony.service
[ -e $unit ] || unit=/lib/systemd/system/chrony.service
if [ -e $unit ]; then
  mkdir -p /etc/systemd/system/chrony.service.d
  {
    printf '[Unit]\nConditionCapability=\n[Service]\nExecStart=\n'
    sed -n '/^ExecStart=/s/ [$]DAEMON_OPTS/ -x&/p' $unit
  } > /etc/systemd/system/chrony.service.d/container.conf
fi
