#!/bin/sh
# After disk.sh: functions that make homes and add keys; the calls of them come after it.
# Files for the skeleton come on standard input, one after the other.

set -eu; umask 077
skel=$(mktemp -d); trap 'rm -rf -- "$skel"' EXIT; cp -rT /etc/skel "$skel"
file() { # name size; its text comes by standard input
  upload "$skel/$1" "$2" "$skel/$1"; chmod 644 "$skel/$1"
}
home() { # path uid gid mode; made beside its place, so that a home is there whole or not at all
  new=$1.gpupool-new; rm -rf -- "$new"; ( umask 022; mkdir -p -- "${1%/*}" )
  said=$(cp -rT "$skel" "$new" 2>&1) || { rm -rf -- "$new"; lost "$1" "cannot be created" "$said"; }
  chown -hR -- "$2:$3" "$new"; chmod -- "$4" "$new"; mv -nT -- "$new" "$1"
}
allow() { # path uid gid key; as the user: in a directory of his, root would follow a link to anywhere
  # whatever he has there, a full quota too, holds up nobody else: plan goes on to name the key that is missing
  timeout -s KILL 20 setpriv --reuid "$2" --regid "$3" --clear-groups sh -eu -c '
    umask 077; ulimit -f 1024; cd -- "$1"; [ -d .ssh ] || mkdir .ssh; cd .ssh
    new=authorized_keys.gpupool-new; rm -f -- "$new"; trap "rm -f -- $new" EXIT
    # the last line of the old file may have no end
    { [ ! -e authorized_keys ] || sed -e "\$a\\" authorized_keys; printf "%s\n" "$2"; } > "$new"
    mv -fT -- "$new" authorized_keys' sh "$1" "$4" || printf '%s\n' "$1: a key cannot be added" >&2
}
