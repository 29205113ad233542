#!/bin/sh
# Prints for each address the network device that leads there and its speed in Mbit/s: "ADDRESS DEVICE SPEED"; the speed is
# - where the device does not say. $1... addresses.

for address in "$@"; do
  device=$(ip -o route get "$address" 2>/dev/null | sed -n 's/.* dev \([^ ]*\).*/\1/p')
  speed=$(cat "/sys/class/net/$device/speed" 2>/dev/null)
  case $speed in '' | -*) speed=-;; esac
  echo "$address ${device:--} $speed"
done
