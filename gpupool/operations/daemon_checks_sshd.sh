#!/bin/sh
# After daemon_checks.sh: checks new files of /etc/ssh/sshd_config.d with sshd.
# shellcheck disable=SC2034,SC2154 # daemon_checks.sh sets etc and dir, and its `no` reads output

cp -R -- "$etc/sshd_config" "$etc/sshd_config.d" "$dir/"; lay "$@"
sed -i -E -e '/^[[:space:]]*Include[[:space:]=]/I{s:'"$etc"'/sshd_config\.d:sshd_config.d:g' \
  -e 's:sshd_config\.d:'"$dir"'/&:g}' "$dir/sshd_config"
# the folder is missing if sshd is started for each connection, or is stopped
[ -d /run/sshd ] || { [ -z "$under" ] || unknown; mkdir -m 0755 /run/sshd; }
output=$("$(command -v sshd)" -t -f "$dir/sshd_config" 2>&1) || no . # sshd requires its absolute path
