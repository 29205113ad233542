#!/bin/sh
# What changes of ZFS begin with: each is called through try, and one that fails holds up no other.
# What went wrong is collected in failed.

set -u; PATH=$PATH:/usr/sbin:/sbin; export LC_ALL=C; failed=
try() {
  said=$("$@" 2>&1 </dev/null) && return
  said=$(printf '%s' "$said" | tr '\n\t' '  '); failed="${failed:+$failed; }${said:-$* failed}"
}
# A command that opens partitions. udev may take the links of new ones away again for a moment, and ZFS gives up
# after zfs_vdev_open_timeout_ms without them, by default after 1 s (openzfs issue 3708).
patiently() {
  limit=/sys/module/zfs/parameters/zfs_vdev_open_timeout_ms
  if usual=$(cat "$limit" 2>/dev/null); then trap 'echo "$usual" >"$limit"' EXIT; echo 60000 >"$limit"; fi
  for pause in 1 2 4 8 0; do
    answer=$("$@" 2>&1) && return
    case $answer in *"currently unavailable"* | *"no such pool or dataset"*) udevadm settle; sleep "$pause" ;; *) break ;; esac
  done
  printf '%s\n' "$answer"; return 1
}
