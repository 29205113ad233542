#!/bin/sh
# Functions that have apt read sources, after packages.sh; the calls of them come after it. $stamp notes what was read.
# shellcheck disable=SC2154 # stamp and log are set before it

refresh() { # source: its lists alone, those of all others stay as they are
  apt -o APT::Update::Error-Mode=any -o Dir::Etc::sourcelist="$1" -o Dir::Etc::sourceparts=- \
    -o APT::Get::List-Cleanup=0 update && return
  tail -n 30 "$log" >&2
  printf '%s\n' "$1 cannot be read: $(grep -E '^(E|W): ' "$log" | tail -n 1)" >&2; exit 1
}
note() { # file...: what apt has read, besides what it had read before
  rm -f -- "$stamp".*.gpupool-new; new=$stamp.$$.gpupool-new
  for path in "$@"; do printf '%s\t%s\n' "$(sha256sum <"$path" | cut -c-64)" "$path"; done >"$new"
  # shellcheck disable=SC2094 # the new one is read before anything is written
  [ ! -e "$stamp" ] || awk -F '\t' 'NR == FNR { new[$2]; next } !($2 in new)' "$new" "$stamp" >>"$new"
  sync -- "$new"; mv -fT -- "$new" "$stamp"
}
