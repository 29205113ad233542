#!/bin/sh
# After reading.sh: functions around a start, restart or reload of a unit; the calls of them come after it.
# $unit is the unit, $stamps the folder of stamps, $sums what look said of its files before the start. $old, where it is
# set, is what look said of them when the unit last came up: it gets these back when it does not with the new ones. $own,
# where it is set, is what look said before of a file of its state that it may spoil when it cannot be reloaded.
# shellcheck disable=SC2154 # these are set before it, sums, old and own after it

set -eu; umask 022
old='' own='' reason=''
say() { # what happened, what a command said; or else the daemon's own last words, not systemd's about it
  journalctl --no-pager -o cat --since "@$began" -u "$unit" >&2 || :
  words=$(journalctl --no-pager -q -o short --since "@$began" -u "$unit" | grep -v ' systemd\[[0-9]*\]: ' || :)
  last=$(printf '%s\n' "$words" | grep 'fatal: ' || printf '%s\n' "${2:-$words}")
  last=$(printf '%s\n' "$last" | tail -n 1 | sed 's/^.*\[[0-9]*\]: //')
  again=; [ -z "$old" ] || again=$(put_back)
  [ -z "$reason" ] || printf '%s\n' "gpupool-reason: $reason" >&2
  printf '%s\n' "$unit $1${last:+: $last}$again (see journalctl -u $unit)" >&2; exit 1
}
down() { # as say, of a unit that does not run
  reason="unit-down $unit"; say "$@"
}
began=$(date +%s)
settle() { # some daemons say that they are ready, and then read the file they cannot live with
  sleep 1; systemctl is-active --quiet -- "$unit" || down "stopped right after its start"
}
note() { # stamp: only now, because only now does the daemon run with these files
  write_stamp "$unit" "$(systemctl show -p InvocationID --value -- "$unit")" "$sums"
}
put_back() { # says what came of it; files that nobody kept stay as they are, and so does the unit
  all=$(printf '%s\n' "$old" ${own:+"$own"})
  printf '%s\n' "$all" | { while read -r sum path; do
    [ "$sum" = - ] || [ -f "$stamps/read/$sum" ] || exit 1
  done; } || return 0
  systemctl stop -- "$unit" >&2 || : # one that goes on after a reload that failed may still write its state
  printf '%s\n' "$all" | while read -r sum path; do
    [ "$(look "$path")" != "$sum  $path" ] || continue
    if [ "$sum" = - ]; then rm -f -- "$path"; continue; fi
    copy=$path.$$-back.gpupool-new; (umask 077; cat < "$stamps/read/$sum" > "$copy")
    [ ! -e "$path" ] || { chown --reference="$path" -- "$copy"; chmod --reference="$path" -- "$copy"; }
    sync -- "$copy"; mv -fT -- "$copy" "$path"
  done
  systemctl daemon-reload; systemctl reset-failed -- "$unit" 2>/dev/null || :
  if ! systemctl start -- "$unit" >&2 2>&1 || { sleep 1; ! systemctl is-active --quiet -- "$unit"; }; then
    printf '%s' "; its former files are back, and it does not start with them either"; return 0
  fi
  sums=$old; note; printf '%s' "; its former files are back, and it runs with them"
}
