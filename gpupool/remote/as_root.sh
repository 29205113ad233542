#!/bin/sh
# Runs a script as root: directly if the login user is root, else with sudo.
# $2 the script in base64.
# Exit code: the script's; 120 if sudo is not installed, 121 if sudo refuses or asks for a password.
script=$(printf %s "$2" | base64 -d) || exit
[ "$(id -u)" != 0 ] || exec /bin/sh -c "$script" sh
command -v sudo >/dev/null || exit 120
sudo -n -H /bin/sh -c "$script" sh
status=$?
# 1 is the exit code of a refusal by sudo, but also of many scripts
[ "$status" != 1 ] || sudo -n /bin/sh -c : </dev/null >/dev/null 2>&1 || exit 121
exit "$status"
