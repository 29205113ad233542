#!/bin/sh
# After reading.sh: defines functions to start, restart or reload a unit; the caller appends their calls.
# $unit: the unit. $stamps: the folder of stamps. $sums: the output of `look` for its files before the start. $old, if set:
# the same for the files of its last start; they are restored if the unit does not start with the new files. $own, if set:
# the output of `look` for a file of its state, which a failed reload may damage.
# shellcheck disable=SC2154 # the caller sets unit and stamps before this, sums, old and own after it

set -eu; umask 022
old='' own='' reason=''
say() { # failure, output of a command; without output, the last line of the daemon's log, without systemd's lines
  journalctl --no-pager -o cat --since "@$began" -u "$unit" >&2 || :
  words=$(journalctl --no-pager -q -o short --since "@$began" -u "$unit" | grep -v ' systemd\[[0-9]*\]: ' || :)
  last=$(printf '%s\n' "$words" | grep 'fatal: ' || printf '%s\n' "${2:-$words}")
  last=$(printf '%s\n' "$last" | tail -n 1 | sed 's/^.*\[[0-9]*\]: //')
  again=; [ -z "$old" ] || again=$(put_back)
  [ -z "$reason" ] || printf '%s\n' "gpupool-reason: $reason" >&2
  printf '%s\n' "$unit $1${last:+: $last}$again (see journalctl -u $unit)" >&2; exit 1
}
down() { # like `say`, for a unit that does not run
  reason="unit-down $unit"; say "$@"
}
began=$(date +%s)
note_unit "$unit"
stays() { # whether the unit is active for a second; each look takes longer on a slow machine, as the daemon's start does
  for _ in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; systemctl is-active --quiet -- "$unit" || return 1; done
}
settle() { # some daemons report that they are ready before they read a bad file and end
  stays || down "stopped right after its start"
}
note() { # write the stamp after the start, when the daemon runs with these files
  write_stamp "$unit" "$(process_of "$unit")" "$sums"
}
put_back() { # restores the former files and prints the result; does nothing if one of them was not kept
  all=$(printf '%s\n' "$old" ${own:+"$own"})
  printf '%s\n' "$all" | { while read -r sum path; do
    [ "$sum" = - ] || [ -f "$stamps/read/$sum" ] || exit 1
  done; } || return 0
  systemctl stop -- "$unit" >&2 || : # after a failed reload, the daemon may still run and write its state
  printf '%s\n' "$all" | while read -r sum path; do
    [ "$(look "$path")" != "$sum  $path" ] || continue
    if [ "$sum" = - ]; then rm -f -- "$path"; continue; fi
    copy=$path.$$-back.gpupool-new; (umask 077; cat < "$stamps/read/$sum" > "$copy")
    [ ! -e "$path" ] || { chown --reference="$path" -- "$copy"; chmod --reference="$path" -- "$copy"; }
    sync -- "$copy"; mv -fT -- "$copy" "$path"
  done
  systemctl daemon-reload; systemctl reset-failed -- "$unit" 2>/dev/null || :
  if ! systemctl start -- "$unit" >&2 2>&1 || ! stays; then
    printf '%s' "; its former files are back, and it does not start with them either"; return 0
  fi
  sums=$old; note; printf '%s' "; its former files are back, and it runs with them"
}
