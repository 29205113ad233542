#!/bin/sh
# After record.sh: defines functions that put files, links and directories; the caller appends clean() and the calls.
# Standard input has the new files, one after the other. It ends with a message at the first failure.

set -eu; umask 077
trap 'cat >/dev/null; clean' EXIT # unread input would break the pipe, and the message would be lost
say() { printf '%s\n' "$1" >&2; exit 1; }
parent() {
  [ -d "$1" ] || note_missing "$1"
  [ -d "$1" ] || output=$(umask 022; mkdir -p -- "$1" 2>&1) || lost "$1" "cannot be created" "$output"
}
new=.$$-$(od -An -N6 -tx1 /dev/urandom | tr -d ' ').gpupool-new; export GPUPOOL_NEW="$new" # checks read it
forget() { # path: remove temporary files of killed runs
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
  chmod -- "$3" "$1$new"; output=$(sync -- "$1$new" 2>&1) || lost "$1" "cannot be written" "$output"
}
place() { # path; a file that is itself a mount point (a container's /etc/hosts) cannot be renamed onto
  if mountpoint -q -- "$1"; then
    output=$( { cat < "$1$new" > "$1"; } 2>&1 ) || lost "$1" "cannot be written" "$output"
    rm -f -- "$1$new"
  else output=$(mv -fT -- "$1$new" "$1" 2>&1) || lost "$1" "cannot be replaced" "$output"; fi
  sync -- "${1%/*}/"
}
rights() {
  keep_rights "$1"
  chown -- "$2" "$1" || say "$1: no such owner: $2"; chmod -- "$3" "$1"
}
folder() {
  note_missing "$1"
  output=$(umask 022; mkdir -p -- "$1" 2>&1) || lost "$1" "cannot be created" "$output"; rights "$@"
}
link() {
  parent "${1%/*}/"; forget "$1"
  output=$(ln -sT -- "$2" "$1$new" 2>&1) || lost "$1" "cannot be created" "$output"
  mv -fT -- "$1$new" "$1"
}
