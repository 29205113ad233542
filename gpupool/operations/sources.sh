#!/bin/sh
# After packages.sh: defines functions that let apt read sources; the caller appends their calls. $stamp: the file with the
# sha256 of the sources that apt has read.
# shellcheck disable=SC2154 # the caller sets stamp and log

unread=
refresh() { # source: update only its lists; if that fails, the others are still to be read
  apt -o APT::Update::Error-Mode=any -o Dir::Etc::sourcelist="$1" -o Dir::Etc::sourceparts=- \
    -o APT::Get::List-Cleanup=0 update && return
  tail -n 30 "$log" >&2; why=$(last E)
  unread="${unread:+$unread; }$1 cannot be read: ${why:-$(last W)}"
}
note() { # file...: add the files to the stamp, if all sources have been read
  [ -z "$unread" ] || { printf '%s\n' "$unread" >&2; exit 1; }
  rm -f -- "$stamp".*.gpupool-new; new=$stamp.$$.gpupool-new
  for path in "$@"; do printf '%s\t%s\n' "$(sha256sum <"$path" | cut -c-64)" "$path"; done >"$new"
  # shellcheck disable=SC2094 # awk reads the new file before it writes
  [ ! -e "$stamp" ] || awk -F '\t' 'NR == FNR { new[$2]; next } !($2 in new)' "$new" "$stamp" >>"$new"
  sync -- "$new"; mv -fT -- "$new" "$stamp"
}
