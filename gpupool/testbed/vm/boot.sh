#!/bin/sh
# Runs a virtual machine; the container of the machine runs this at each start. $folder: files that the machine writes.
# $disk: folder of the boot disk. $disks: NAME:MiB of other disks. $strings: SMBIOS strings for systemd. $patience:
# seconds from the power button to a power cut. $1...: QEMU's arguments, except processor and accelerator.
# shellcheck disable=SC2154 # the caller sets them
# shellcheck disable=SC2329 # traps call monitor

set -eu
mkdir -p "$folder" && cd "$folder"
# The machine gets the address that docker assigned; the container is only a bridge.
ip address flush dev eth0
ip link add name bridge0 type bridge forward_delay 0
ip tuntap add dev tap0 mode tap
for port in eth0 tap0; do ip link set $port master bridge0; done
for device in eth0 tap0 bridge0; do ip link set $device up; done
[ -e root.qcow2 ] || qemu-img create -q -f qcow2 -F raw -b "$disk/root.img" root.qcow2
for extra in $disks; do
  [ -e "${extra%:*}" ] || truncate -s "${extra#*:}M" "${extra%:*}"
done
number=0
for string in $strings; do
  printf %s "$string" > "string-$number"; number=$((number + 1))
done
# Without erms, the kernel clears and copies pages by words; QEMU emulates "rep stosb" byte by byte. Models of older
# processors are not faster, and two of twelve machines hung with them, probably because they lack ARAT.
accel=tcg,thread=multi cpu=max,erms=off,fsrm=off
# Some hosts have a KVM that cannot run an ordinary kernel; their processors have neither flag.
[ -w /dev/kvm ] && grep -qwE 'vmx|svm' /proc/cpuinfo && accel=kvm cpu=host
monitor() { echo "$1" | socat -t1 - "UNIX-CONNECT:$folder/monitor" >/dev/null 2>&1 || true; }
# `docker stop` presses the power button; SIGQUIT is a power cut. In both cases QEMU writes its cache to disk.
trap 'monitor system_powerdown; { sleep "$patience"; monitor quit; } &' TERM
trap 'monitor quit' QUIT
# shellcheck disable=SC2034 # tries are only counted
for try in 1 2 3; do
  rm -f monitor
  began=$(date +%s)
  # a "file" console, not "stdio": QEMU writes it to docker's log, and reads no input
  qemu-system-x86_64 -accel $accel -cpu $cpu "$@" &
  machine=$! status=0
  while kill -0 $machine 2>/dev/null; do wait $machine && status=0 || status=$?; done
  # With several emulated processors, QEMU 10 sometimes aborts while the kernel sets up its devices.
  [ $status = 134 ] && [ $(($(date +%s) - began)) -lt 60 ] || break
done
exit "$status"
