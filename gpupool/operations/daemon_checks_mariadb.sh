#!/bin/sh
# After daemon_checks.sh: checks new files of /etc/mysql with mariadbd.
# shellcheck disable=SC2154 # daemon_checks.sh sets etc and dir

cp -RL -- "$etc/." "$dir/"; mkdir "$dir/data"; lay "$@"
find "$dir" -name '*.cnf' -exec sed -i -E '/^[[:space:]]*!include/s:'"$etc"'/:'"$dir"'/:g' {} +
conf=$dir/mariadb.cnf; [ -f "$conf" ] || conf=$dir/my.cnf
# mariadbd reads all settings, prints them and ends; it does not open the live data
output=$(mariadbd --defaults-file="$conf" --datadir="$dir/data" --verbose --help 2>&1 >/dev/null) ||
  { output=$(printf '%s\n' "$output" | sed -nE 's:^.*\[ERROR\] ([^ ]*/)?::p'); no .; }
