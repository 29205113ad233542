#!/bin/sh
# Prints the state of a node in lines of a letter, a tab and values with tabs between:
# U unit KEY=VALUE of systemd, W uptime in seconds, I user UID, C a credential of munge, H sha256 name (a file of
# Slurm's configuration that a daemon has loaded), F directory free_bytes size free_inodes inodes.
# $1 the user, $2 folders of Slurm's configuration with blanks between, $3 directories that daemons write to with
# blanks between, $4... units.

user=$1 folders=$2 written=$3; shift 3
shown=LoadState,ActiveState,SubState,NRestarts,Result,ExecMainStatus,StatusText
shown=$shown,ActiveEnterTimestampMonotonic,WatchdogTimestampMonotonic
# systemctl prints a block for each unit, in the order of the names; names have no blanks
LC_ALL=C systemctl show -p "$shown" -- "$@" | units=$* awk '
  BEGIN { RS = ""; FS = "\n"; split(ENVIRON["units"], unit, " ") }
  { for (at = 1; at <= NF; at++) printf "U\t%s\t%s\n", unit[NR], $at }'
printf 'W\t%s\n' "$(cut -d. -f1 /proc/uptime)"
if uid=$(id -u "$user" 2>/dev/null); then printf 'I\t%s\t%s\n' "$user" "$uid"; fi
if credential=$(timeout 10 munge -n 2>/dev/null); then printf 'C\t%s\n' "$credential"; fi
for folder in $folders; do
  for file in "$folder"/*.conf; do
    [ ! -f "$file" ] || printf 'H\t%s\t%s\n' "$(sha256sum <"$file" | cut -c-64)" "${file##*/}"
  done
done
for directory in $written; do
  [ ! -d "$directory" ] || timeout 5 stat -f -c "F	%n	%a %S %b %d %c" -- "$directory"
done | awk -F '\t' '{ split($3, count, " ")
  printf "F\t%s\t%.0f\t%.0f\t%s\t%s\n", $2, count[1] * count[2], count[3] * count[2], count[4], count[5] }'
