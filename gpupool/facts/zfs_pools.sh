#!/bin/sh
# After zfs.sh. Prints pools and the contents of disks, each line after its kind and a tab: G property, S line of zpool
# status, L leaf and its disk, D disk and the kernel's name of it; for disks in no pool, after their path, B block devices
# below, W signatures, Z words of the ZFS label. $1... disks.
# The disk of a partition is its whole disk: ZFS partitions the disks of a pool.
# shellcheck disable=SC2154 # zfs.sh sets no, pools, tab and line

prefixed() { while IFS= read -r words; do printf '%s\t%s\n' "$1" "$words"; done; } # each line after its kind and path
disk_of() {
  real=$(readlink -f -- "$1") || real=$1
  part=/sys/class/block/${real##*/}
  if [ -e "$part/partition" ]; then up=$(readlink -f -- "$part/.."); real=/dev/${up##*/}; fi
  printf '%s' "$real"
}
used=
if [ -z "$no" ] && [ -n "$pools" ]; then
  zpool get -Hp -o name,property,value,source all | sed 's/^/G\t/'
  shown=$(zpool status -P)
  printf '%s\n' "$shown" | sed 's/^/S\t/'
  leaves=$(printf '%s\n' "$shown" | sed -n 's,^[[:space:]]*\(/[^[:space:]]*\).*,\1,p')
  IFS=$line
  for leaf in $leaves; do
    disk=$(disk_of "$leaf"); used="$used|$(readlink -f -- "$leaf")|$disk|"
    printf 'L\t%s\t%s\n' "$leaf" "$disk"
  done
  unset IFS
fi
for path in "$@"; do
  if [ ! -e "$path" ]; then printf 'D\t%s\t\n' "$path"; continue; fi
  disk=$(readlink -f -- "$path")
  printf 'D\t%s\t%s\n' "$path" "$disk"
  case $used in *"|$disk|"*) continue;; esac
  lsblk -nrpo NAME,TYPE,FSTYPE,LABEL,MOUNTPOINT -- "$disk" 2>/dev/null | prefixed "B$tab$path"
  wipefs -n -p -- "$disk" 2>/dev/null | grep -v '^#' | prefixed "W$tab$path"
  for place in "$disk" $(lsblk -nrpo NAME -- "$disk" 2>/dev/null); do
    command -v zdb >/dev/null || break
    zdb -l "$place" 2>/dev/null | sed -n "s,^    \(name\|state\|pool_guid\|hostname\): ,\1\t,p" | prefixed "Z$tab$path"
  done
done
