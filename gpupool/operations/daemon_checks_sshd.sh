#!/bin/sh
# After daemon_checks.sh: sshd tries new files of /etc/ssh/sshd_config.d.
# shellcheck disable=SC2034,SC2154 # daemon_checks.sh sets etc and dir, and its no reads said

cp -R -- "$etc/sshd_config" "$etc/sshd_config.d" "$dir/"; lay "$@"
sed -i -E -e '/^[[:space:]]*Include[[:space:]=]/I{s:'"$etc"'/sshd_config\.d:sshd_config.d:g' \
  -e 's:sshd_config\.d:'"$dir"'/&:g}' "$dir/sshd_config"
# where ssh is started for each connection, or was stopped, its folder may be missing
[ -d /run/sshd ] || mkdir -m 0755 /run/sshd
said=$("$(command -v sshd)" -t -f "$dir/sshd_config" 2>&1) || no . # sshd wants its own full path
