#!/bin/sh
# After record.sh: functions for units of mounts, and for what is mounted; the calls of them come after it.
# $units is the folder of the unit files; their texts come on standard input, one after the other.
# What goes wrong with one mount holds up no other: its words are collected in failed.
# shellcheck disable=SC2154 # units is set before it

set -u
say() { # unit words
  failed=${failed:+$failed; }$2
}
failed=
unit() { # name size sha256; the text comes by standard input
  rm -f -- "$units"/."$1".*gpupool-new; new=$units/.$1.$$.gpupool-new; upload "$new" "$2" "$units/$1"
  printf '%s  %s\n' "$3" "$new" | sha256sum -c --status ||
    { echo "$1: the upload was incomplete; run again" >&2; exit 1; }
  chmod 644 "$new"; sync -- "$new"
}
place() { mv -fT -- "$units/.$1.$$.gpupool-new" "$units/$1" && sync -- "$units"; }
arm() { # unit path; needs no server
  said=$(systemctl start -- "$1" 2>&1) || say "$1" "$2: systemd cannot watch it: $said"
}
bring() { # unit path source seconds hint; restart: systemd may believe in a mount that somebody took away by hand
  timeout -k 5 "$4" systemctl restart -- "$1" 2>/dev/null && return
  if [ $? -ge 124 ]; then say "$1" "$2: $3 was not mounted within $4 s$5"; else
    said=$(journalctl --no-pager -o cat -u "$1" -n 20 2>/dev/null |
      grep -v '^Mount\|^Unmount\|^Failed to mount\|\.mount: ' | tail -n 1)
    say "$1" "$2: $3 cannot be mounted${said:+: $said}$5"
  fi
  systemctl --no-block stop -- "$1"; return 1
}
there() { # unit path path-as-in-mountinfo; a unit may be called active with nothing mounted
  place=$3 awk '$5 == ENVIRON["place"] { found = 1 } END { exit !found }' /proc/self/mountinfo ||
    say "$1" "$2: systemd reports it as mounted, but the kernel does not"
}
answers() { timeout -s KILL 5 stat -f -- "$1" >/dev/null 2>&1; }
again() { # unit path options seconds
  answers "$2" || return 0 # who is away is named when all else is done
  timeout -k 5 "$4" mount -o "remount,$3" -- "$2" || say "$1" "$2: cannot be remounted with $3"
}
lifted=
lift() { # unit path; never by force: what somebody uses stays, and is named when all else is done
  answers "$2" && timeout -s KILL 15 umount -c -- "$2" 2>/dev/null && lifted="$lifted|$1|"
}
anew() { # unit path source seconds hint
  case $lifted in *"|$1|"*) bring "$@";; esac
}
