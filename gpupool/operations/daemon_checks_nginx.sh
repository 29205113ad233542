#!/bin/sh
# After daemon_checks.sh: nginx tries new files of /etc/nginx.
# shellcheck disable=SC2154 # daemon_checks.sh sets etc and dir, and its no reads said

cp -RL -- "$etc/." "$dir/"; lay "$@"
find "$dir" -type f -exec sed -i -E '/^[[:space:]]*include/s:'"$etc"'/:'"$dir"'/:g' {} +
said=$(nginx -t -q -c "$dir/nginx.conf" 2>&1) ||
  { said=$(printf '%s\n' "$said" | sed -nE 's/^.*\[emerg\] ([0-9]+#[0-9]+: )?//p'); no .; }
