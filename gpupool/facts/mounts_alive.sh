#!/bin/sh
# Prints for each mount, with tabs between: good, free (nothing is mounted) or dead, its path, and why it is dead.
# Of each in turn: path, the same as in mountinfo, unit, seconds to wait.
# A look at the file system itself, the only one here that a server which is away could hang, so it has its time.
# Where systemd watches, the look makes the mount; `stat -f` does that, `stat` does not.

mounted=5 # seconds: what is mounted answers at once, or it does not
probe() { # path kind unit seconds
  limit=$4; [ "$2" = autofs ] || [ "$limit" -le $mounted ] || limit=$mounted
  said=$(timeout -s KILL "$limit" stat -f -c %T -- "$1" 2>&1); code=$?
  if [ "$code" = 0 ]; then printf 'good\t%s\t\n' "$1"
  elif [ "$code" -ge 124 ]; then printf 'dead\t%s\tno answer within %s s\n' "$1" "$limit"
  else
    why=$(journalctl --no-pager -q -o cat -u "$3" -n 20 2>/dev/null |
      grep -v '^Mount\|^Unmount\|^Failed to mount\|\.mount: ' | tail -n 1)
    if [ "$2" = autofs ] && [ -n "$why" ]; then said=$why; else said=${said##*: }; fi
    printf 'dead\t%s\t%s\n' "$1" "$(printf %s "$said" | tr '\n\t' '  ')"
  fi
}
# what is mounted at each place, - for nothing; the topmost of several is the last one
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
# one look does, where all that is mounted answers; where not, each has its own
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
