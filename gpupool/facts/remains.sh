#!/bin/sh
# Prints what a node has of a running cluster, with tabs: key SHA256 of its munge key; started, if gpupool has started
# munge with a key; step JOB for each job with steps here; slurmctld, if it runs; state, if there is a queue; name
# NAME|ID of the cluster of the state; unmounted, if the state's mount is missing; tables, if there is a database, and
# unread, if MariaDB does not run with it; known NAME ID ADDRESS of each cluster in it; job ID of jobs that have not ended.
# $1 stamp of munge, $2 key, $3 directory of slurmctld's state ("": not here), $4 its mount ("": none), $5 the database
# ("": not here), $6 the cluster.

line() { printf '%s\t%s\n' "$1" "$2"; }
clusters() { mariadb -N "$database" -e "select name, $1, control_host from cluster_table where deleted = 0" 2>/dev/null; }
database=$5
[ ! -f "$2" ] || line key "$(sha256sum < "$2" | cut -c -64)"
! grep -qs "^[0-9a-f]\{64\}  $2\$" "$1" || echo started
for process in /proc/[0-9]*; do
  # the command line of a user's process may never be read to its end
  read -r command < "$process/comm" && [ "$command" = slurmstepd ] && [ "$(stat -c %u "$process")" = 0 ] || continue
  { tr '\0' ' ' < "$process/cmdline"; echo; } | sed -n 's/^slurmstepd: \[\([0-9]*\).*/step\t\1/p'
done 2>/dev/null | sort -u
if [ -n "$3" ]; then
  case $(systemctl show -P ActiveState slurmctld.service) in active|reloading|refreshing) echo slurmctld ;; esac
  if [ -n "$4" ] && ! awk -v at="$4" '$5 == at { found = 1 } END { exit !found }' /proc/self/mountinfo; then
    echo unmounted
  else
    [ ! -s "$3/job_state" ] && [ ! -s "$3/job_state.old" ] || echo state
    [ ! -s "$3/clustername" ] || line name "$(head -n 1 "$3/clustername")"
  fi
fi
if [ -z "$5" ]; then :
elif ! mariadb -e 'select 1' >/dev/null 2>&1; then
  [ ! -e "/var/lib/mysql/$5" ] || printf 'tables\nunread\n'
elif clusters=$(clusters id || clusters "''"); then # Slurm 22.05 has no ClusterID, and no column for it
  echo tables
  [ -z "$clusters" ] || printf '%s\n' "$clusters" | sed 's/^/known\t/'
  mariadb -N "$5" -e "select 'job', id_job from \`$6_job_table\`
    where time_end = 0 and deleted = 0 and (state & 255) < 3 limit 1000" 2>/dev/null
fi
