#!/bin/sh
# After files/former.sh: defines functions that restore the site's files and directories; the caller appends the calls.
# shellcheck disable=SC2154 # files/former.sh sets before

set -eu; umask 022
restore() { # path; a file that is itself a mount point (a container's /etc/hosts) cannot be renamed onto
  copy=$before/files$1; new=$1.gpupool-new
  output=$(mkdir -p -- "${1%/*}/" 2>&1) || lost "$1" "cannot be restored" "$output"
  if mountpoint -q -- "$1"; then
    output=$( { cat < "$copy" > "$1" && chown --reference="$copy" -- "$1" && chmod --reference="$copy" -- "$1" &&
      touch -r "$copy" -- "$1"; } 2>&1 ) || lost "$1" "cannot be restored" "$output"
  else
    rm -f -- "$new"
    output=$( { cp -aT -- "$copy" "$new" && { [ -L "$new" ] || sync -- "$new"; } && mv -fT -- "$new" "$1"; } 2>&1 ) ||
      lost "$1" "cannot be restored" "$output"
  fi
  sync -- "${1%/*}/"
}
give_rights() { # path UID:GID MODE
  chown -- "$2" "$1"; chmod -- "$3" "$1"
}
forget_all() { # record, stamps: last, when everything is as before
  rm -rf -- "$before" "$2"; rm -f -- "$1"; sync -- "${1%/*}"
}
