#!/bin/sh
# After disk.sh: defines functions that keep the site's files and states before gpupool first changes them, readable by
# root alone. `gpupool adopt --back` restores them. $record: the path of the record of files (see record.sh).
# Beside it, the folder `before` has
#   files     each replaced file or link at its whole path, with its owner, mode and times
#   folders   lines PATH, tab, and "added", or UID:GID MODE of a directory whose rights gpupool changes
#   state     with tabs: hostname NAME; unit NAME STATE-AT-BOOT ACTIVE-STATE; package NAME
#   units     names of units that gpupool has changed
#   accounting.rows   on the node of slurmdbd: all of its entities (see accounting/kept.sh)
# shellcheck disable=SC2154 # the caller sets record

before=${record%/*}/before
is_recorded() { # path: whether gpupool has put it
  [ -f "$record" ] && at=$1 LC_ALL=C awk -F '\t' '$1 == ENVIRON["at"] { found = 1 } END { exit !found }' "$record"
}
private() { # directory: create it and its parents, for root alone
  output=$( { (umask 022; mkdir -p -- "${record%/*}") && (umask 077; mkdir -p -- "$1"); } 2>&1 ) || lost "$1" "cannot be created" "$output"
}
keep_former() { # path of a file or link; a copy of a killed run is replaced, because the file may have changed since
  ! is_recorded "$1" || return 0
  copy=$before/files$1; private "${copy%/*}"; rm -f -- "$copy.gpupool-new"
  output=$( { cp -aT -- "$1" "$copy.gpupool-new" && { [ -L "$1" ] || sync -- "$copy.gpupool-new"; } &&
    mv -fT -- "$copy.gpupool-new" "$copy" && sync -- "${copy%/*}"; } 2>&1 ) || lost "$copy" "cannot be written" "$output"
}
note_folder() { # path value; only the first value counts
  [ ! -f "$before/folders" ] || ! at=$1 LC_ALL=C awk -F '\t' '$1 == ENVIRON["at"] { found = 1 } END { exit !found }' \
    "$before/folders" || return 0
  private "$before"
  { [ ! -f "$before/folders" ] || cat -- "$before/folders"; printf '%s\t%s\n' "$1" "$2"; } | put_down folders
}
note_missing() { # path: note this directory and its parents that do not exist
  path=${1%/}
  while [ -n "$path" ] && [ ! -e "$path" ]; do note_folder "$path" added; path=${path%/*}; done
}
keep_rights() { # path: keep a file, or the rights of a directory
  if [ -L "$1" ] || [ ! -d "$1" ]; then keep_former "$1"; else note_folder "$1" "$(stat -c '%u:%g %a' -- "$1")"; fi
}
put_down() { # name: write standard input to this file of the folder
  output=$( { (umask 077; cat > "$before/$1.gpupool-new") && sync -- "$before/$1.gpupool-new" &&
    mv -fT -- "$before/$1.gpupool-new" "$before/$1" && sync -- "$before"; } 2>&1 ) ||
    lost "$before/$1" "cannot be written" "$output"
}
keep_state() { # before gpupool's first file: the host name, the units and the packages
  [ ! -f "$before/state" ] || return 0
  private "$before"
  {
    printf 'hostname\t%s\n' "$(cat /proc/sys/kernel/hostname)"
    { systemctl list-unit-files --no-legend --plain 2>/dev/null | sed 's/^/F /'
      systemctl list-units --no-legend --plain --state=active,reloading,activating 2>/dev/null | sed 's/^/A /'
    } | awk -v OFS='\t' '
      $1 == "F" { boot[$2] = $3 }
      $1 == "A" { active[$2] = $4; if (!($2 in boot)) boot[$2] = "-" }
      END { for (unit in boot) print "unit", unit, boot[unit], (unit in active ? active[unit] : "inactive") }'
    dpkg-query -W -f='package\t${Package}\n' 2>/dev/null || :
  } | LC_ALL=C sort | put_down state
}
