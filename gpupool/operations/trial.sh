#!/bin/sh
# Tests new files of Slurm on a controller, after trial_start.sh and with its arguments. Fails, with the reason on standard
# error, if slurmctld would not start with them or would end jobs. It succeeds too where the result is unknown.
# shellcheck disable=SC2154 # trial_start.sh sets dir and conf

start new; new_result=$?
now_result=none; [ ! -f "$conf" ] || { start now; now_result=$?; }
case $new_result/$now_result in
  0/0) ;;
  137/*) echo "slurmctld is not ready with the new files after 60 s; is this node overloaded? Apply again" >&2; exit 1;;
  91/0|91/93|91/none)
    touch "$dir/now.errors"; [ "$now_result" = none ] || error_messages now > "$dir/now.errors"
    output=$(error_messages new | grep -vxF -f "$dir/now.errors" -e 'Unable to process configuration file' | awk '!seen[$0]++' |
      head -n 2)
    where=
    for word in $(printf '%s' "$output" | grep -v ' line [0-9]' | tr -c 'A-Za-z0-9_' ' '); do
      line=$(grep -niE -m 1 "^[[:space:]]*${word}[[:space:]]*=" "$new") || continue
      where="line ${line%%:*} (${line#*:}): "; break
    done
    output=$(printf '%s' "$output" | tr '\n' ';' | sed 's/;/; /g')
    printf '%s\n' "slurmctld would not start with the new files: $where$output" >&2; exit 1;;
  *) exit 0;; # unknown
esac
# lost jobs: running jobs that would not run, and jobs that the new slurmctld would not have
awk -F'|' '{ state[FILENAME, $1] = $2; line[FILENAME, $1] = $0 }
  END { for (key in state) { split(key, part, SUBSEP); if (part[1] != ARGV[2]) continue
    was = state[key]; is = state[ARGV[1], part[2]]; run = "^(R|S|ST|CF)$"
    if (was != "CG" && (is == "" || (was ~ run && is !~ run))) print line[key] } }' \
  "$dir/new/jobs" "$dir/now/jobs" | sort -n > "$dir/lost"
[ -s "$dir/lost" ] || exit 0
# the state on disk is some seconds old: ignore jobs that have ended since
if timeout 10 squeue -a -h -o '%i|%t' > "$dir/live"; then
  awk -F'[|_]' 'FILENAME == ARGV[1] { if ($NF != "CG") live[$1]; next } $1 in live' \
    "$dir/live" "$dir/lost" > "$dir/still" && mv -- "$dir/still" "$dir/lost"
fi
[ -s "$dir/lost" ] || exit 0
count=$(wc -l < "$dir/lost")
examples=$(head -n 5 "$dir/lost" | awk -F'|' '{ printf "%s%s (%s, %s)", (NR > 1 ? ", " : ""), $1, $3, $4 }')
[ "$count" -le 5 ] || examples="$examples, …"
printf '%s\n' "with the new files, slurmctld would end jobs ($count): $examples; let them end first" >&2; exit 1
