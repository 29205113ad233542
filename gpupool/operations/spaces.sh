#!/bin/sh
# After disk.sh: defines functions for the top folders of spaces and users' folders; the caller appends their calls.
# It ends with a message at the first failure.

set -eu; umask 022
say() { printf '%s\n' "$1" >&2; exit 1; }
parent() { output=$(mkdir -p -- "${1%/*}/" 2>&1) || lost "$1" "cannot be created" "$output"; }
make() { output=$(mkdir -m 0700 -- "$1" 2>&1) || lost "$1" "cannot be created" "$output"; }
top() { # path gid mode; with five digits, chmod also clears a set-gid bit
  [ -d "$1" ] || { parent "$1"; make "$1"; }
  chown -h -- "0:$2" "$1"; chmod -- "0$3" "$1"
}
allow() { # path gid...
  top=$1; shift; gids=; for gid in "$@"; do gids="$gids,g:$gid:rwx"; done
  output=$(setfacl -m "${gids#,},m::rwx" -- "$top" 2>&1) || case $output in
    *upported*) say "$top: its file system does not support ACLs (on ZFS: zfs set acltype=posixacl)";;
    *) say "$top: $output";;
  esac
}
forget() { # path gid...
  top=$1; shift; for gid in "$@"; do setfacl -x "g:$gid" -- "$top" || say "$top: its ACL cannot be changed"; done
}
own() { # path uid gid mode; chown comes last, because the owner may replace the folder by a link
  parent "$1"; make "$1"
  chmod -- "0$4" "$1"; chown -h -- "$2:$3" "$1"
}
