#!/bin/sh
# Prints the users whom gpupool manages on this node, and the state of those who have left the inventory: the lines of the
# file $record as "m:NAME:UID"; for each that is not among the arguments and still has an account with this number
# "d:NAME:DAYS:COUNT", with the first day without login and the number of processes outside of jobs, and "g:NAME:GROUP" for
# each group of the words $groups with this member; then the lines of the file $ends as "e:NAME:DAYS".
# After processes.sh. $1... users of the inventory.
# shellcheck disable=SC2154,SC2086 # the caller sets record, ends and groups; names of groups are words

if [ -e "$record" ]; then
  sed 's/^/m:/' "$record"
  printf '%s\n' "$@" | awk -F: 'NR == FNR { known[$1]; next } !($1 in known)' - "$record" |
  while IFS=: read -r name uid; do
    [ "$uid" -ge 1000 ] && [ "$(id -u -- "$name" 2>/dev/null)" = "$uid" ] || continue
    printf 'd:%s:%s:%s\n' "$name" "$(getent shadow "$name" | cut -d: -f8)" "$(outside_of_jobs "$uid" | wc -l)"
    [ -z "$groups" ] || getent group $groups | awk -F: -v name="$name" '
      index("," $4 ",", "," name ",") { print "g:" name ":" $1 }'
  done
fi
[ ! -e "$ends" ] || sed 's/^/e:/' "$ends"
