#!/bin/sh
# What every look at ZFS begins with; sets tab, line (a newline), pools, and no: why ZFS cannot be asked.
# With tabs between: X why ZFS cannot be asked, Y version of the module.
# shellcheck disable=SC2034 # tab and line are for what comes after it

PATH=$PATH:/usr/sbin:/sbin; export LC_ALL=C
tab=$(printf '\t'); line='
'
if ! command -v zpool >/dev/null; then no='zpool is not installed'
elif pools=$(zpool list -H -o name 2>&1); then no=
else no=$(printf '%s' "$pools" | tr '\n\t' '  '); fi
[ -z "$no" ] || printf 'X\t%s\n' "$no"
sed 's/^/Y\t/' /sys/module/zfs/version 2>/dev/null
