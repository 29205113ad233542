#!/bin/sh
# Creates a machine's disk atomically: $1/$2/root.img from the archive on standard input, and its kernel $1/$2/vmlinux.
# $1 folder of disks, $2 name of the new disk, $3 size of its file system.

set -eu
at=$1 key=$2 size=$3
new=$at/.new-$key
rm -rf "$new"
trap 'rm -rf "$new"' EXIT
mkdir -m 755 "$new"
truncate -s "$size" "$new/root.img"
# Names of files are UTF-8 in the archive.
export LC_ALL=C.UTF-8
mke2fs -q -t ext4 -m 0 -J size=16 -E nodiscard -d - "$new/root.img"
# Remove docker's files; with the first two, systemd would detect a container.
printf 'rm /.dockerenv\nrm /run/.containerenv\nrm /etc/hosts\nrm /etc/hostname\nrm /etc/resolv.conf\n' |
  debugfs -w -f - "$new/root.img" >/dev/null 2>&1
debugfs -R "dump /boot/vmlinux $new/vmlinux" "$new/root.img" 2>/dev/null
[ -s "$new/vmlinux" ]
rm -rf "${at:?}/$key"
mv "$new" "$at/$key"
