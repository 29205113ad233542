#!/bin/sh
# Prints for each mount, with tabs between: good, free (nothing is mounted) or dead, its path, and why it is dead.
# Of each in turn: path, the same as in mountinfo, unit, seconds to wait. All are asked at once.
# A look at the file system itself, the only one here that a server which is away could hang, so each has its time.
# Where systemd watches, the look makes the mount; `stat -f` does that, `stat` does not.

probe() { # path as-in-mountinfo unit seconds
  kind=$(place=$2 awk '$5 == ENVIRON["place"] { for (at = 6; $at != "-"; at++); kind = $(at + 1) } END { print kind }' \
    /proc/self/mountinfo)
  if [ -z "$kind" ]; then printf 'free\t%s\t\n' "$1"; return; fi
  # what is mounted answers at once, or it does not
  limit=$4; [ "$kind" = autofs ] || [ "$limit" -le 5 ] || limit=5
  said=$(timeout -s KILL "$limit" stat -f -c %T -- "$1" 2>&1); code=$?
  if [ "$code" = 0 ]; then printf 'good\t%s\t\n' "$1"
  elif [ "$code" -ge 124 ]; then printf 'dead\t%s\tno answer within %s s\n' "$1" "$limit"
  else
    why=$(journalctl --no-pager -q -o cat -u "$3" -n 20 2>/dev/null |
      grep -v '^Mount\|^Unmount\|^Failed to mount\|\.mount: ' | tail -n 1)
    if [ "$kind" = autofs ] && [ -n "$why" ]; then said=$why; else said=${said##*: }; fi
    printf 'dead\t%s\t%s\n' "$1" "$(printf %s "$said" | tr '\n\t' '  ')"
  fi
}
while [ $# -gt 0 ]; do probe "$1" "$2" "$3" "$4" & shift 4; done
wait
