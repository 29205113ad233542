#!/bin/sh
# The first lines of every daemon's check. $program: the daemon's own check; without it, the files are accepted.
# $1 the daemon's folder, $2... new files in it, which have the suffix $GPUPOOL_NEW. In a plan, they are under the folder
# $GPUPOOL_UNDER, and a check that cannot be made ends with status 77.
# Sets etc and dir, a folder in which files are merged. `lay` copies new files there; `no` ends the check with the daemon's
# message.
# shellcheck disable=SC2154 # the caller sets program

set -u; umask 077; PATH=$PATH:/usr/sbin:/sbin; export LC_ALL=C.UTF-8
unknown() { [ -z "$under" ] || exit 77; exit 0; }
etc=$1; shift; under=${GPUPOOL_UNDER-}
command -v "$program" >/dev/null || unknown
dir=$(mktemp -d); trap 'rm -rf -- "$dir"' EXIT
lay() { for path in "$@"; do
  to=$dir/${path#"$etc"/}; mkdir -p -- "${to%/*}"; cp -- "$under$path$GPUPOOL_NEW" "$to"
done; }
no() { # pattern: refuse the files if a line matches, and print it; other lines are not about the files
  output=$(printf '%s\n' "$output" | grep -m 1 -- "$1") || exit 0
  printf '%s\n' "$output" | sed "s:$dir:$etc:g"; exit 1
}
