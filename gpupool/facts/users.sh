#!/bin/sh
# Users and groups of this node. Takes $ends, a file; $1, how many of the rest are users; names or numbers of users,
# then of groups. Prints lines of passwd after "u:", of group after "g:"; the end of a user's access as "s:NAME:DAYS",
# without the password's hash, which does not leave the node, and the lines of the file after "e:".
# shellcheck disable=SC2154,SC2086 # $ends is set before this; names of groups are words
cut=$1
shift
n=0
for key in "$@"; do
  shift
  n=$((n + 1))
  if [ $n -le "$cut" ]; then set -- "$@" "$key"; else group="${group-} $key"; fi
done
# getent without keys would list everybody: "root" is always there and always asked for
getent passwd root "$@" | sed 's/^/u:/'
getent group root ${group-} | sed 's/^/g:/'
getent shadow root "$@" | cut -d: -f1,8 | sed 's/^/s:/'
[ ! -e "$ends" ] || sed 's/^/e:/' "$ends"
