#!/bin/sh
# What a machine's container does each time it starts. $folder is for what the machine writes, $disk the folder of the
# disk that it starts from, $disks NAME:MiB of its others, $strings what systemd learns by SMBIOS, $patience seconds
# from power off to pulling the plug; $1... are QEMU's arguments beyond processor and accelerator.
# shellcheck disable=SC2154 # these are set before it
# shellcheck disable=SC2329 # say is called by traps

set -eu
mkdir -p "$folder" && cd "$folder"
# docker's address becomes the machine's: the container is only a bridge to it.
ip address flush dev eth0
ip link add name bridge0 type bridge forward_delay 0
ip tuntap add dev tap0 mode tap
for port in eth0 tap0; do ip link set $port master bridge0; done
for device in eth0 tap0 bridge0; do ip link set $device up; done
[ -e root.qcow2 ] || qemu-img create -q -f qcow2 -F raw -b "$disk/root.img" root.qcow2
for it in $disks; do
  [ -e "${it%:*}" ] || truncate -s "${it#*:}M" "${it%:*}"
done
number=0
for string in $strings; do
  printf %s "$string" > "string-$number"; number=$((number + 1))
done
# Without erms the kernel clears and copies pages by words: QEMU emulates "rep stosb" byte by byte. Older processors are
# no quicker, and two of twelve stopped for good: probably they wait for the HPET, since such processors lack ARAT.
accel=tcg,thread=multi cpu=max,erms=off,fsrm=off
# Some machines offer a KVM that runs no ordinary kernel: then the processor does not say that it can do this.
[ -w /dev/kvm ] && grep -qwE 'vmx|svm' /proc/cpuinfo && accel=kvm cpu=host
say() { echo "$1" | socat -t1 - "UNIX-CONNECT:$folder/monitor" >/dev/null 2>&1 || true; }
# docker stop presses the power button; QUIT pulls the plug. Either way QEMU writes down what it holds.
trap 'say system_powerdown; { sleep "$patience"; say quit; } &' TERM
trap 'say quit' QUIT
# shellcheck disable=SC2034 # tries are only counted
for try in 1 2 3; do
  rm -f monitor
  began=$(date +%s)
  # "File" and not "stdio": the console goes to docker's log, and nothing is read.
  qemu-system-x86_64 -accel $accel -cpu $cpu "$@" &
  machine=$! status=0
  while kill -0 $machine 2>/dev/null; do wait $machine && status=0 || status=$?; done
  # Emulating several processors, QEMU 10 aborts now and then while the kernel sets up its devices.
  [ $status = 134 ] && [ $(($(date +%s) - began)) -lt 60 ] || break
done
exit "$status"
