#!/bin/sh
# Functions around a start, restart or reload of a unit; the calls of them come after it.
# $unit is the unit, $stamps the folder of stamps, $sums what look said of its files before the start.
# shellcheck disable=SC2154 # these are set before it, sums after it

set -eu; umask 022
say() { # what happened, what a command said; or else the daemon's own last words, not systemd's about it
  journalctl --no-pager -o cat --since "@$began" -u "$unit" >&2 || :
  last=$(journalctl --no-pager -q -o short --since "@$began" -u "$unit" | grep -v ' systemd\[[0-9]*\]: ' | tail -n 1)
  last=$(printf '%s\n' "${2:-$last}" | tail -n 1 | sed 's/^.*\[[0-9]*\]: //')
  printf '%s\n' "$unit $1${last:+: $last} (see journalctl -u $unit)" >&2; exit 1
}
began=$(date +%s)
look() { for path in "$@"; do
  if [ -f "$path" ]; then printf '%s  %s\n' "$(sha256sum < "$path" | cut -c-64)" "$path"
  else printf -- '-  %s\n' "$path"; fi
done; }
settle() { # some daemons say that they are ready, and then read the file they cannot live with
  sleep 1; systemctl is-active --quiet -- "$unit" || say "stopped right after its start"
}
note() { # stamp: only now, because only now does the daemon run with these files
  mkdir -p "$stamps"; rm -f -- "$stamps"/."$unit".*gpupool-new; new=$stamps/.$unit.$$.gpupool-new
  printf '%s\n%s\n' "$(systemctl show -p InvocationID --value -- "$unit")" "$sums" > "$new"
  sync -- "$new"; mv -fT -- "$new" "$stamps/$unit"
}
