#!/bin/sh
# After disk.sh and former.sh: defines functions for the record of the files and links that gpupool has put on a node. A
# line has a path, a tab, and the sha256, "-> target", or "replaced" if another file existed before. $record: the path of
# the record.
# shellcheck disable=SC2154 # the caller sets record

noted=
remember() { # path value
  if [ -e "$1" ] || [ -L "$1" ]; then existed=y; keep_former "$1"; else existed=n; fi
  noted="$noted$1	$2	$existed
"
}
forget_entry() { # path
  noted="$noted$1
"
}
write_record() { # write all remembered and forgotten entries atomically
  [ -n "$noted" ] || return 0
  [ -f "$record" ] || keep_state
  output=$(umask 022; mkdir -p -- "${record%/*}" 2>&1) || lost "$record" "cannot be created" "$output"
  output=$( { printf '%s' "$noted" | cat - "$record" 2>/dev/null | LC_ALL=C awk -F '\t' -v OFS='\t' '
    NF == 1 { removed[$1] = 1; next }
    NF == 3 { now[$1] = $2; before[$1] = $3; next }
    $1 in removed { next }
    $1 in now { print $1, ($2 == "replaced" ? $2 : now[$1]); delete now[$1]; next }
    { print }
    END { for (path in now) print path, (before[path] == "y" ? "replaced" : now[path]) }
    ' >"$record.new" && LC_ALL=C sort -o "$record.new" "$record.new" && chmod 0644 "$record.new" && sync -- "$record.new" &&
    mv -fT -- "$record.new" "$record"; } 2>&1 ) || lost "$record" "cannot be written" "$output"
}
