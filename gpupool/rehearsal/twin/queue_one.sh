#!/bin/sh
# Defines `one`, which submits a job as a user; the caller appends calls, each with the job's script on standard input.
# It prints "taken ID", or "refused" and sbatch's message.
# With --init-groups and `env -i`, the job has the groups and the environment of a login, and nothing of this shell.

cd /tmp || exit
one() {
  uid=$1 gid=$2 user=$3 home=$4; shift 4
  if id=$(setpriv --reuid "$uid" --regid "$gid" --init-groups env -i USER="$user" LOGNAME="$user" HOME="$home" \
    PATH=/usr/local/bin:/usr/bin:/bin SHELL=/bin/bash sbatch --parsable -o /dev/null -e /dev/null "$@" 2>/tmp/.sbatch)
  then echo "taken ${id%%;*}"; else echo "refused $(tr '\n' ' ' </tmp/.sbatch)"; fi
}
