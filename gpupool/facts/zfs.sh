#!/bin/sh
# The first lines of every fact about ZFS: they set tab, line (a newline), pools, and no, the reason why ZFS does not work.
# Prints with tabs: X that reason, Y the version of the module.
# shellcheck disable=SC2034 # the script after it uses tab and line

PATH=$PATH:/usr/sbin:/sbin; export LC_ALL=C
tab=$(printf '\t'); line='
'
if ! command -v zpool >/dev/null; then no='zpool is not installed'
elif pools=$(zpool list -H -o name 2>&1); then no=
else no=$(printf '%s' "$pools" | tr '\n\t' '  '); fi
[ -z "$no" ] || printf 'X\t%s\n' "$no"
sed 's/^/Y\t/' /sys/module/zfs/version 2>/dev/null
