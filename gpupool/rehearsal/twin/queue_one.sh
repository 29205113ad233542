#!/bin/sh
# A function that hands in a job as somebody; calls come after it, each with the job's script on standard input.
# It prints "taken ID", or "refused" and what sbatch complains of.
# --init-groups and a bare environment: what a person has after logging in, nothing of ours.

cd /tmp || exit
one() {
  uid=$1 gid=$2 user=$3 home=$4; shift 4
  if id=$(setpriv --reuid "$uid" --regid "$gid" --init-groups env -i USER="$user" LOGNAME="$user" HOME="$home" \
    PATH=/usr/local/bin:/usr/bin:/bin SHELL=/bin/bash sbatch --parsable -o /dev/null -e /dev/null "$@" 2>/tmp/.sbatch)
  then echo "taken ${id%%;*}"; else echo "refused $(tr '\n' ' ' </tmp/.sbatch)"; fi
}
