#!/bin/sh
# Defines functions that keep the files which a daemon has read, to compare and restore them; the caller appends the calls.
# $stamps: the folder of stamps. A stamp is a file for each unit, with the output of `process_of` and then that of `look`
# for its files; its mtime is the time of the load. The folder `read` in it has the contents, named by their sha256.
# shellcheck disable=SC2154 # the caller sets stamps

look() { for path in "$@"; do
  if [ -f "$path" ]; then printf '%s  %s\n' "$(sha256sum < "$path" | cut -c-64)" "$path"
  else printf -- '-  %s\n' "$path"; fi
done; }
keep() { # path...: keep their current contents, readable by root alone
  mkdir -p -- "$stamps/read"; chmod 0700 -- "$stamps/read"
  for path in "$@"; do
    [ -f "$path" ] || continue
    sum=$(look "$path"); sum=${sum%%  *}; [ ! -e "$stamps/read/$sum" ] || continue
    copy=$stamps/read/.$$.gpupool-new; (umask 077; cat < "$path" > "$copy"); sync -- "$copy"
    if [ "$(sha256sum < "$copy" | cut -c-64)" = "$sum" ]; then mv -fT -- "$copy" "$stamps/read/$sum"
    else rm -f -- "$copy"; fi
  done
}
note_unit() { # unit: `gpupool adopt --back` gives it its former state
  before=${stamps%/*}/before
  [ ! -f "$before/state" ] || grep -qsxF -- "$1" "$before/units" || printf '%s\n' "$1" >> "$before/units"
}
process_of() { # unit: its InvocationID, and the start of its main process, if it has one
  systemctl show --timestamp=us+utc -p InvocationID,ExecMainStartTimestamp -- "$1" | awk '
    { key = $0; sub(/=.*/, "", key); sub(/^[^=]*=/, ""); value[key] = $0 }
    END { at = value["ExecMainStartTimestamp"]; print value["InvocationID"] (at ~ / .* / ? " " at : "") }'
}
write_stamp() { # unit process lines
  mkdir -p "$stamps"; rm -f -- "$stamps"/."$1".*gpupool-new; stamp=$stamps/.$1.$$.gpupool-new
  printf '%s\n%s\n' "$2" "$3" > "$stamp"; sync -- "$stamp"; mv -fT -- "$stamp" "$stamps/$1"
  [ ! -d "$stamps/read" ] || for copy in "$stamps"/read/*; do
    grep -qsF -- "${copy##*/}" "$stamps"/*.* || rm -f -- "$copy"
  done
}
keep_read() { # unit path...: keep the files that the running unit has read, before they are replaced
  unit=$1; shift
  case $(systemctl is-active -- "$unit") in active|reloading|refreshing) ;; *) return 0;; esac
  process=$(process_of "$unit")
  started=$(systemctl show --timestamp=unix -p InactiveExitTimestamp,ExecMainStartTimestamp --value -- "$unit" |
    tr -d @ | sort -n | tail -n 1)
  lines='' at=$started
  case $(head -n 1 "$stamps/$unit" 2>/dev/null) in "$process"|"${process%% *}")
    lines=$(tail -n +2 "$stamps/$unit"); at=$(stat -c %.Y -- "$stamps/$unit");;
  esac
  all=$lines
  for path in "$@"; do
    [ -f "$path" ] || continue
    now=$(look "$path"); noted=$(printf '%s\n' "$lines" | while read -r sum of; do [ "$of" != "$path" ] || echo "$sum"; done)
    if [ -n "$noted" ]; then [ "$noted" != "${now%%  *}" ] || keep "$path"
    elif [ "$(stat -L -c %Z -- "$path")" -lt "$started" ]; then # unchanged since the unit's start
      keep "$path"; all=$(printf '%s\n%s' "$all" "$now" | grep .)
    fi
  done
  [ "$all" = "$lines" ] || { write_stamp "$unit" "$process" "$all"; touch -d "@$at" -- "$stamps/$unit"; }
}
