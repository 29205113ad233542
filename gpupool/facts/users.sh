#!/bin/sh
# Prints users and groups of this node: lines of passwd after "u:", of group after "g:", the end of a user's access as
# "s:NAME:DAYS", and the lines of the file $ends after "e:", those of the file $record after "m:". Hashes of passwords are not printed.
# $1 the number of users, $2... names or ids of the users, then of the groups.
# shellcheck disable=SC2154,SC2086 # the caller sets ends and record; names of groups are words
cut=$1
shift
n=0
for key in "$@"; do
  shift
  n=$((n + 1))
  if [ $n -le "$cut" ]; then set -- "$@" "$key"; else group="${group-} $key"; fi
done
# getent without keys would list all users, so root is always a key
getent passwd root "$@" | sed 's/^/u:/'
getent group root ${group-} | sed 's/^/g:/'
getent shadow root "$@" | cut -d: -f1,8 | sed 's/^/s:/'
[ ! -e "$ends" ] || sed 's/^/e:/' "$ends"
[ ! -e "$record" ] || sed 's/^/m:/' "$record"
