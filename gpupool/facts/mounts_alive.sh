#!/bin/sh
# Prints for each mount, with tabs: good, free (nothing is mounted) or dead; its path; the reason if it is dead.
# Arguments for each mount: path, path in mountinfo's notation, unit, seconds to wait.
# It accesses the file systems, so each access has a time limit. At an automount, `stat -f` triggers the mount; `stat`
# does not.

mounted=5 # seconds: an existing mount answers at once, or not at all
probe() { # path kind unit seconds
  limit=$4; [ "$2" = autofs ] || [ "$limit" -le $mounted ] || limit=$mounted
  output=$(timeout -s KILL "$limit" stat -f -c %T -- "$1" 2>&1); code=$?
  if [ "$code" = 0 ]; then printf 'good\t%s\t\n' "$1"
  elif [ "$code" -ge 124 ]; then printf 'dead\t%s\tno answer within %s s\n' "$1" "$limit"
  else
    why=$(journalctl --no-pager -q -o cat -u "$3" -n 20 2>/dev/null |
      grep -v '^Mount\|^Unmount\|^Failed to mount\|\.mount: ' | tail -n 1)
    if [ "$2" = autofs ] && [ -n "$why" ]; then output=$why; else output=${output##*: }; fi
    printf 'dead\t%s\t%s\n' "$1" "$(printf %s "$output" | tr '\n\t' '  ')"
  fi
}
# the type of each mount, - for none; the last of several mounts at a path is the topmost
kinds=$(awk 'BEGIN {
  while ((getline <"/proc/self/mountinfo") > 0) { for (at = 6; $at != "-"; at++); kind[$5] = $(at + 1) }
  for (n = 2; n < ARGC; n += 4) print ARGV[n] in kind ? kind[ARGV[n]] : "-" }' "$@")
for kind in $kinds; do
  path=$1 unit=$3 seconds=$4; shift 4; set -- "$@" "$path" "$kind" "$unit" "$seconds"
done
all_answer() ( # path kind unit seconds...
  for kind in $kinds; do
    path=$1; shift 4
    case $kind in -|autofs) ;; *) set -- "$@" "$path";; esac
  done
  [ $# = 0 ] || timeout -s KILL $mounted stat -f -c %T -- "$@" >/dev/null 2>&1
)
# one command for all mounts is enough if all answer; else each mount is probed
alive=no; if all_answer "$@"; then alive=yes; fi
while [ $# -gt 0 ]; do
  case $2:$alive in
    -:*) printf 'free\t%s\t\n' "$1";;
    autofs:*|*:no) probe "$1" "$2" "$3" "$4" &;;
    *) printf 'good\t%s\t\n' "$1";;
  esac
  shift 4
done
wait
