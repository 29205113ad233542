#!/bin/sh
# Prints what a node had before gpupool changed it, from the folder $1 (see operations/files/former.sh), beside what it
# has now. $2 the folder of units' stamps. Lines have tabs:
#   folder                                  the folder $1 exists
#   state                                   the states of the first apply were kept
#   file PATH SAME RIGHTS RIGHTS TEXT TEXT  SAME is y or n; rights (OWNER:GROUP MODE, "" if absent) and texts in base64
#                                           ("-" for a link, a large file, or a file for only some users) of the
#                                           kept file, and of the present one
#   rights DIRECTORY WAS NOW, added DIRECTORY     of directories; an added one has no file
#   hostname WAS NOW
#   unit NAME BOOT ACTIVE BOOT ACTIVE       then and now, in systemd's words; "-" for a unit that did not, does not exist
#   package NAME                            installed since then
# Only the contents of files that differ are printed, up to 256 KiB.

before=$1
rights() { [ ! -e "$1" ] && [ ! -L "$1" ] || stat -c '%U:%G %a' -- "$1"; }
text() {
  if [ ! -e "$1" ] && [ ! -L "$1" ]; then return; fi
  if [ ! -L "$1" ] && [ -f "$1" ] && [ "$(stat -c %s -- "$1")" -le 262144 ]; then
    case $(stat -c %a -- "$1") in *[4567]) base64 -w0 -- "$1"; return;; esac
  fi
  printf -- -
}
same() { # whether a path has the type, the contents, the owner, the mode and the time of its kept copy
  [ "$(stat -c '%F %u:%g %a %Y' -- "$1" 2>/dev/null)" = "$(stat -c '%F %u:%g %a %Y' -- "$2")" ] || return 1
  if [ -L "$2" ]; then [ "$(readlink -- "$1")" = "$(readlink -- "$2")" ]; else cmp -s -- "$1" "$2"; fi
}
[ ! -d "$before" ] || echo folder
[ ! -d "$before/files" ] || find "$before/files" ! -type d ! -name '*.gpupool-new' | LC_ALL=C sort | while IFS= read -r copy; do
  path=${copy#"$before/files"}
  if same "$path" "$copy"; then printf 'file\t%s\ty\t\t\t\t\n' "$path"; continue; fi
  printf 'file\t%s\tn\t%s\t%s\t%s\t%s\n' "$path" "$(rights "$copy")" "$(rights "$path")" "$(text "$copy")" "$(text "$path")"
done
[ ! -f "$before/folders" ] || while IFS='	' read -r path value; do
  [ -d "$path" ] && [ ! -L "$path" ] || continue
  if [ "$value" != added ]; then
    now=$(stat -c '%u:%g %a' -- "$path")
    [ "$now" = "$value" ] || printf 'rights\t%s\t%s\t%s\n' "$path" "$value" "$now"
  elif [ -z "$(find "$path" -xdev ! -type d -print -quit)" ]; then printf 'added\t%s\n' "$path"; fi
done <"$before/folders"
if [ -f "$before/state" ]; then
  echo state
  printf 'hostname\t%s\t%s\n' "$(sed -n 's/^hostname	//p' "$before/state")" "$(cat /proc/sys/kernel/hostname)"
  { [ ! -f "$before/units" ] || cat "$before/units"
    [ ! -d "$2" ] || find "$2" -maxdepth 1 -type f ! -name '.*' -printf '%f\n'; } | LC_ALL=C sort -u | while IFS= read -r unit; do
    was=$(unit=$unit awk -F '\t' '$1 == "unit" && $2 == ENVIRON["unit"] { print $3 "\t" $4 }' "$before/state")
    boot=$(systemctl list-unit-files --no-legend --plain -- "$unit" 2>/dev/null | awk 'NR == 1 { print $2 }')
    active=$(systemctl is-active -- "$unit" 2>/dev/null)
    printf 'unit\t%s\t%s\t%s\t%s\n' "$unit" "${was:--	-}" "${boot:--}" "${active:-unknown}"
  done
  { sed -n 's/^package	/1 /p' "$before/state"; dpkg-query -W -f='2 ${Package}\n' 2>/dev/null; } |
    awk '$1 == 1 { known[$2] = 1 } $1 == 2 && !($2 in known) && !seen[$2]++ { printf "package\t%s\n", $2 }'
fi
