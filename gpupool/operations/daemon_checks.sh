#!/bin/sh
# What each daemon's check begins with. $program is the daemon's own check: without it the files are accepted.
# $1 the daemon's folder, the others new files in it, which lie there with $GPUPOOL_NEW after their names.
# Sets etc and dir (a folder to merge them in), lay puts new files there, and no ends the check with the daemon's words.
# shellcheck disable=SC2154 # program is set before it

set -u; umask 077; PATH=$PATH:/usr/sbin:/sbin; export LC_ALL=C.UTF-8
etc=$1; shift; command -v "$program" >/dev/null || exit 0
dir=$(mktemp -d); trap 'rm -rf -- "$dir"' EXIT
lay() { for path in "$@"; do
  to=$dir/${path#"$etc"/}; mkdir -p -- "${to%/*}"; cp -- "$path$GPUPOOL_NEW" "$to"
done; }
no() { # what: the first line that is about the file; anything else is no reason
  said=$(printf '%s\n' "$said" | grep -m 1 -- "$1") || exit 0
  printf '%s\n' "$said" | sed "s:$dir:$etc:g"; exit 1
}
