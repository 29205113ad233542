#!/bin/sh
# Defines functions that remove a key from a home, and that change the record of keys; the caller sets record.
# shellcheck disable=SC2154

set -eu; (umask 022; mkdir -p -- "${record%/*}"); umask 077; touch -- "$record"
forbid() { # home uid gid key (its base64 part); runs as the user, because root would follow a link to any file
  # a failure, such as a full quota, stops no other user; plan still lists the key
  timeout -s KILL 20 setpriv --reuid "$2" --regid "$3" --clear-groups sh -eu -c '
    umask 077; ulimit -f 1024; cd -- "$1/.ssh"
    new=authorized_keys.gpupool-new; rm -f -- "$new"; trap "rm -f -- $new" EXIT
    key=$2 awk "{ for (at = 1; at <= NF; at++) if (\$at == ENVIRON[\"key\"]) next; print }" authorized_keys > "$new"
    mv -fT -- "$new" authorized_keys' sh "$1" "$4" && return
  printf '%s\n' "$1: a key cannot be removed" >&2; return 1
}
forget() { # line of the record
  { grep -vxF -e "$1" -- "$record" || :; } > "$record.new"; mv -f -- "$record.new" "$record"
}
