#!/bin/sh
# Prints a node's host key, the state of sshd, systemd's state of the system, and the names of failed units.

cat /etc/ssh/ssh_host_ed25519_key.pub
systemctl is-active ssh.service
systemctl is-system-running
systemctl list-units --state=failed --plain --no-legend | cut -d" " -f1
