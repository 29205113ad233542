#!/bin/sh
# After zfs.sh. Prints datasets, with tabs: G dataset property value source; U dataset kind number used quota files
# most_files; M path "mounted", or M path "" and the name of a file in it. $1 properties to print of all datasets, $2...
# datasets to print with all properties, --, datasets to print with the use of their users, --, paths.
# shellcheck disable=SC2154 # zfs.sh sets no, pools and line

if [ -z "$no" ] && [ -n "$pools" ]; then
  zfs get -Hp -t filesystem,volume -o name,property,value,source "$1" | sed 's/^/G\t/'
fi
shift
named=
while [ "$1" != -- ]; do named="$named$line$1"; shift; done
shift
# a dataset that does not exist does not stop the output of the others
if [ -z "$no" ] && [ -n "$named" ]; then
  # shellcheck disable=SC2086 # names, a line each
  (IFS=$line; zfs get -Hp -o name,property,value,source all $named 2>/dev/null | sed 's/^/G\t/')
fi
while [ "$1" != -- ]; do
  zfs userspace -Hpn -t posixuser,posixgroup -o type,name,used,quota,objused,objquota "$1" 2>/dev/null | sed "s,^,U\t$1\t,"
  shift
done
shift
for path in "$@"; do
  if mountpoint -q -- "$path"; then printf 'M\t%s\tmounted\t\n' "$path"
  else printf 'M\t%s\t\t%s\n' "$path" "$(find "$path" -mindepth 1 -maxdepth 1 -printf '%f' -quit 2>/dev/null)"; fi
done
