#!/bin/sh
# After daemon_checks.sh: mariadbd tries new files of /etc/mysql.
# shellcheck disable=SC2154 # daemon_checks.sh sets etc and dir

cp -RL -- "$etc/." "$dir/"; mkdir "$dir/data"; lay "$@"
find "$dir" -name '*.cnf' -exec sed -i -E '/^[[:space:]]*!include/s:'"$etc"'/:'"$dir"'/:g' {} +
conf=$dir/mariadb.cnf; [ -f "$conf" ] || conf=$dir/my.cnf
# it reads all settings, prints them and ends; the live data is not its business
said=$(mariadbd --defaults-file="$conf" --datadir="$dir/data" --verbose --help 2>&1 >/dev/null) ||
  { said=$(printf '%s\n' "$said" | sed -nE 's:^.*\[ERROR\] ([^ ]*/)?::p'); no .; }
