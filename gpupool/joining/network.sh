#!/bin/sh
# Prints "ADDRESS DEVICE SPEED" for each address: the network device of its route and the device's speed in Mbit/s, or -
# if the device does not report a speed. $1... addresses.

for address in "$@"; do
  device=$(ip -o route get "$address" 2>/dev/null | sed -n 's/.* dev \([^ ]*\).*/\1/p')
  speed=$(cat "/sys/class/net/$device/speed" 2>/dev/null)
  case $speed in '' | -*) speed=-;; esac
  echo "$address ${device:--} $speed"
done
