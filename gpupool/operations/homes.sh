#!/bin/sh
# After disk.sh: defines functions that create homes and add keys; the caller appends their calls.
# Standard input has the files of the skeleton, one after the other.

set -eu; umask 077
skel=$(mktemp -d); trap 'rm -rf -- "$skel"' EXIT; cp -rT /etc/skel "$skel"
file() { # name size; reads the text from standard input
  upload "$skel/$1" "$2" "$skel/$1"; chmod 644 "$skel/$1"
}
home() { # path uid gid mode; created under a temporary name, so that a home is complete or absent
  new=$1.gpupool-new; rm -rf -- "$new"; ( umask 022; mkdir -p -- "${1%/*}" )
  output=$(cp -rT "$skel" "$new" 2>&1) || { rm -rf -- "$new"; lost "$1" "cannot be created" "$output"; }
  chown -hR -- "$2:$3" "$new"; chmod -- "$4" "$new"; mv -nT -- "$new" "$1"
}
allow() { # path uid gid key; runs as the user, because root would follow a link in the user's directory to any file
  # a failure, such as a full quota, stops no other user; plan still lists the missing key
  timeout -s KILL 20 setpriv --reuid "$2" --regid "$3" --clear-groups sh -eu -c '
    umask 077; ulimit -f 1024; cd -- "$1"; [ -d .ssh ] || mkdir .ssh; cd .ssh
    new=authorized_keys.gpupool-new; rm -f -- "$new"; trap "rm -f -- $new" EXIT
    # the last line of the old file may lack a line feed
    { [ ! -e authorized_keys ] || sed -e "\$a\\" authorized_keys; printf "%s\n" "$2"; } > "$new"
    mv -fT -- "$new" authorized_keys' sh "$1" "$4" || printf '%s\n' "$1: a key cannot be added" >&2
}
