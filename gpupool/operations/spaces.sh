#!/bin/sh
# After disk.sh: functions for tops of spaces and folders in them; the calls of them come after it.
# It ends at the first thing that goes wrong, and says so.

set -eu; umask 022
say() { printf '%s\n' "$1" >&2; exit 1; }
parent() { said=$(mkdir -p -- "${1%/*}/" 2>&1) || lost "$1" "cannot be created" "$said"; }
make() { said=$(mkdir -m 0700 -- "$1" 2>&1) || lost "$1" "cannot be created" "$said"; }
top() { # path gid mode; a mode of five digits takes a set-gid bit away, too
  [ -d "$1" ] || { parent "$1"; make "$1"; }
  chown -h -- "0:$2" "$1"; chmod -- "0$3" "$1"
}
allow() { # path gid...
  top=$1; shift; gids=; for gid in "$@"; do gids="$gids,g:$gid:rwx"; done
  said=$(setfacl -m "${gids#,},m::rwx" -- "$top" 2>&1) || case $said in
    *upported*) say "$top: its file system does not support ACLs (on ZFS: zfs set acltype=posixacl)";;
    *) say "$top: $said";;
  esac
}
forget() { # path gid...
  top=$1; shift; for gid in "$@"; do setfacl -x "g:$gid" -- "$top" || say "$top: its ACL cannot be changed"; done
}
own() { # path uid gid mode; the owner last: from then on he may put a link in its place
  parent "$1"; make "$1"
  chmod -- "0$4" "$1"; chown -h -- "$2:$3" "$1"
}
