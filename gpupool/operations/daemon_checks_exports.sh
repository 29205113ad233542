#!/bin/sh
# After daemon_checks.sh: checks new files of /etc/exports.d with exportfs.
# shellcheck disable=SC2034,SC2154 # daemon_checks.sh sets etc and dir, and its `no` reads output

cp -R -- "$etc" "$dir/exports.d"; for path in "$@"; do cp -- "$under$path$GPUPOOL_NEW" "$dir/exports.d/${path##*/}"; done
mkdir "$dir/nfs"
# in a namespace without clients and nfsd, with a temporary export table
output=$(timeout 20 unshare -m -n sh -c '
  mount --bind "$1/exports.d" "$2" && mount --bind "$1/nfs" /var/lib/nfs && exportfs -r' sh "$dir" "$etc" 2>&1) ||
  no "^exportfs: $etc/[^ ]*:[0-9]*: "
