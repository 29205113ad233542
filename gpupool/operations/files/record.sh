#!/bin/sh
# Functions for the record of what gpupool has put on a node, after disk.sh: a path and its sha256, or "-> target", or
# "replaced" where something else was there before gpupool came, with a tab between. $record is its path.
# shellcheck disable=SC2154 # record is set before it

noted=
remember() { # path value
  if [ -e "$1" ] || [ -L "$1" ]; then before=y; else before=n; fi
  noted="$noted$1	$2	$before
"
}
forget_entry() { # path
  noted="$noted$1
"
}
write_record() { # with all that was remembered and forgotten, whole or not at all
  [ -n "$noted" ] || return 0
  said=$(umask 022; mkdir -p -- "${record%/*}" 2>&1) || lost "$record" "cannot be created" "$said"
  said=$( { printf '%s' "$noted" | cat - "$record" 2>/dev/null | LC_ALL=C awk -F '\t' -v OFS='\t' '
    NF == 1 { gone[$1] = 1; next }
    NF == 3 { now[$1] = $2; before[$1] = $3; next }
    $1 in gone { next }
    $1 in now { print $1, ($2 == "replaced" ? $2 : now[$1]); delete now[$1]; next }
    { print }
    END { for (path in now) print path, (before[path] == "y" ? "replaced" : now[path]) }
    ' >"$record.new" && LC_ALL=C sort -o "$record.new" "$record.new" && chmod 0644 "$record.new" && sync -- "$record.new" &&
    mv -fT -- "$record.new" "$record"; } 2>&1 ) || lost "$record" "cannot be written" "$said"
}
