#!/bin/sh
# The first lines of every script that changes ZFS. Each change is called with `try`, so that a failure does not stop the
# others; the messages are collected in failed.

set -u; PATH=$PATH:/usr/sbin:/sbin; export LC_ALL=C; failed=
try() {
  output=$("$@" 2>&1 </dev/null) && return
  output=$(printf '%s' "$output" | tr '\n\t' '  '); failed="${failed:+$failed; }${output:-$* failed}"
}
# Runs a command that opens partitions. udev may remove the links of new partitions for a moment; without them, ZFS fails
# after zfs_vdev_open_timeout_ms, by default 1 s (openzfs issue 3708).
patiently() {
  limit=/sys/module/zfs/parameters/zfs_vdev_open_timeout_ms
  if usual=$(cat "$limit" 2>/dev/null); then trap 'echo "$usual" >"$limit"' EXIT; echo 60000 >"$limit"; fi
  for pause in 1 2 4 8 0; do
    answer=$("$@" 2>&1) && return
    case $answer in *"currently unavailable"* | *"no such pool or dataset"*) udevadm settle; sleep "$pause" ;; *) break ;; esac
  done
  printf '%s\n' "$answer"; return 1
}
