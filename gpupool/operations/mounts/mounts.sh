#!/bin/sh
# After record.sh: defines functions for mount units and mounts; the caller appends their calls.
# $units: the folder of the unit files; standard input has their texts, one after the other.
# A failure of one mount does not stop the others: the messages are collected in failed.
# shellcheck disable=SC2154 # the caller sets units

set -u
say() { # unit message
  failed=${failed:+$failed; }$2
}
failed=
unit() { # name size sha256; reads the text from standard input
  rm -f -- "$units"/."$1".*gpupool-new; new=$units/.$1.$$.gpupool-new; upload "$new" "$2" "$units/$1"
  printf '%s  %s\n' "$3" "$new" | sha256sum -c --status ||
    { echo "$1: the upload was incomplete; run again" >&2; exit 1; }
  chmod 644 "$new"; sync -- "$new"
}
place() { mv -fT -- "$units/.$1.$$.gpupool-new" "$units/$1" && sync -- "$units"; }
arm() { # unit path; starts an automount, which needs no server
  output=$(systemctl start -- "$1" 2>&1) || say "$1" "$2: systemd cannot watch it: $output"
}
bring() { # unit path source seconds hint; restart, because systemd may not have noticed an unmount by hand
  timeout -k 5 "$4" systemctl restart -- "$1" 2>/dev/null && return
  if [ $? -ge 124 ]; then say "$1" "$2: $3 was not mounted within $4 s$5"; else
    output=$(journalctl --no-pager -o cat -u "$1" -n 20 2>/dev/null |
      grep -v '^Mount\|^Unmount\|^Failed to mount\|\.mount: ' | tail -n 1)
    say "$1" "$2: $3 cannot be mounted${output:+: $output}$5"
  fi
  systemctl --no-block stop -- "$1"; return 1
}
there() { # unit path path-in-mountinfo; a unit may be active although nothing is mounted
  place=$3 awk '$5 == ENVIRON["place"] { found = 1 } END { exit !found }' /proc/self/mountinfo ||
    say "$1" "$2: systemd reports it as mounted, but the kernel does not"
}
answers() { timeout -s KILL 5 stat -f -- "$1" >/dev/null 2>&1; }
again() { # unit path options seconds
  answers "$2" || return 0 # `answering` reports it after all other operations
  timeout -k 5 "$4" mount -o "remount,$3" -- "$2" || say "$1" "$2: cannot be remounted with $3"
}
lifted=
lift() { # unit path; never unmount by force: a mount in use is kept, and `answering` reports it
  answers "$2" && timeout -s KILL 15 umount -c -- "$2" 2>/dev/null && lifted="$lifted|$1|"
}
anew() { # unit path source seconds hint
  case $lifted in *"|$1|"*) bring "$@";; esac
}
