#!/bin/sh
# After record.sh: functions that put files, links and directories; the calls of them, and clean(), come after it.
# New files come on standard input, one after the other. It ends at the first thing that goes wrong, and says so.

set -eu; umask 077
trap 'cat >/dev/null; clean' EXIT # what was not read would break the pipe, and the reason would be lost
say() { printf '%s\n' "$1" >&2; exit 1; }
parent() { [ -d "$1" ] || said=$(umask 022; mkdir -p -- "$1" 2>&1) || lost "$1" "cannot be created" "$said"; }
new=.$$-$(od -An -N6 -tx1 /dev/urandom | tr -d ' ').gpupool-new; export GPUPOOL_NEW="$new" # checks read it
forget() { # path: what runs have left that were killed
  rm -f -- "$1.gpupool-new"
  for old in "$1".*.gpupool-new; do
    pid=${old#"$1."}; pid=${pid%%-*}; [ -d "/proc/$pid" ] || rm -f -- "$old"
  done
}
stage() { # path owner mode size sha256
  parent "${1%/*}/"; forget "$1"; upload "$1$new" "$4" "$1"
  [ "$(stat -c %s -- "$1$new")" = "$4" ] || say "$1: the upload was incomplete; run again"
  printf '%s  %s\n' "$5" "$1$new" | sha256sum -c --status || say "$1: the upload was damaged; run again"
  chown -- "$2" "$1$new" || say "$1: no such owner: $2"
  chmod -- "$3" "$1$new"; said=$(sync -- "$1$new" 2>&1) || lost "$1" "cannot be written" "$said"
}
place() { # path; a file that is itself a mount point (a container's /etc/hosts) cannot be renamed onto
  if mountpoint -q -- "$1"; then
    said=$( { cat < "$1$new" > "$1"; } 2>&1 ) || lost "$1" "cannot be written" "$said"
    rm -f -- "$1$new"
  else said=$(mv -fT -- "$1$new" "$1" 2>&1) || lost "$1" "cannot be replaced" "$said"; fi
  sync -- "${1%/*}/"
}
rights() { chown -- "$2" "$1" || say "$1: no such owner: $2"; chmod -- "$3" "$1"; }
folder() { said=$(umask 022; mkdir -p -- "$1" 2>&1) || lost "$1" "cannot be created" "$said"; rights "$@"; }
link() {
  parent "${1%/*}/"; forget "$1"
  said=$(ln -sT -- "$2" "$1$new" 2>&1) || lost "$1" "cannot be created" "$said"
  mv -fT -- "$1$new" "$1"
}
