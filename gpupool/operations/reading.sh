#!/bin/sh
# Defines functions that keep the files which a daemon has read, to compare and restore them; the caller appends the calls.
# $stamps: the folder of stamps. A stamp is a file for each unit, with its InvocationID and then the output of `look` for
# its files. The folder `read` in it has the contents, named by their sha256.
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
write_stamp() { # unit invocation lines
  mkdir -p "$stamps"; rm -f -- "$stamps"/."$1".*gpupool-new; stamp=$stamps/.$1.$$.gpupool-new
  printf '%s\n%s\n' "$2" "$3" > "$stamp"; sync -- "$stamp"; mv -fT -- "$stamp" "$stamps/$1"
  [ ! -d "$stamps/read" ] || for copy in "$stamps"/read/*; do
    grep -qsF -- "${copy##*/}" "$stamps"/*.* || rm -f -- "$copy"
  done
}
keep_read() { # unit path...: keep the files that the running unit has read, before they are replaced
  unit=$1; shift
  case $(systemctl is-active -- "$unit") in active|reloading|refreshing) ;; *) return 0;; esac
  invocation=$(systemctl show -p InvocationID --value -- "$unit")
  started=$(systemctl show --timestamp=unix -p InactiveExitTimestamp --value -- "$unit"); started=${started#@}
  lines=$([ "$(head -n 1 "$stamps/$unit" 2>/dev/null)" != "$invocation" ] || tail -n +2 "$stamps/$unit")
  all=$lines
  for path in "$@"; do
    [ -f "$path" ] || continue
    now=$(look "$path"); noted=$(printf '%s\n' "$lines" | while read -r sum at; do [ "$at" != "$path" ] || echo "$sum"; done)
    if [ -n "$noted" ]; then [ "$noted" != "${now%%  *}" ] || keep "$path"
    elif [ "$(stat -L -c %Y -- "$path")" -lt "$started" ]; then # unchanged since the unit's start
      keep "$path"; all=$(printf '%s\n%s' "$all" "$now" | grep .)
    fi
  done
  [ "$all" = "$lines" ] || write_stamp "$unit" "$invocation" "$all"
}
