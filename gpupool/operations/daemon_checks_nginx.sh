#!/bin/sh
# After daemon_checks.sh: checks new files of /etc/nginx with nginx.
# shellcheck disable=SC2154 # daemon_checks.sh sets etc and dir, and its `no` reads output

cp -RL -- "$etc/." "$dir/"; lay "$@"
find "$dir" -type f -exec sed -i -E '/^[[:space:]]*include/s:'"$etc"'/:'"$dir"'/:g' {} +
output=$(nginx -t -q -c "$dir/nginx.conf" 2>&1) ||
  { output=$(printf '%s\n' "$output" | sed -nE 's/^.*\[emerg\] ([0-9]+#[0-9]+: )?//p'); no .; }
