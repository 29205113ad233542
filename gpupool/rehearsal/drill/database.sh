#!/bin/sh
# Prints the contents of the accounting database of the cluster $cluster as of the time $until (seconds since 1970), in
# parts that begin with `== NAME`: the number of jobs by month, and how many of them are unchanged since; associations;
# the ids of the last jobs that had ended; and sacct's output for the jobs in $jobs (ids with commas).
# shellcheck disable=SC2154 # the caller sets cluster, until and jobs

set -eu
sql() { mariadb -N -D slurm_acct_db -e "set time_zone = '+00:00'; $1"; }
job="\`${cluster}_job_table\`"
month="date_format(from_unixtime(time_submit), '%Y-%m')"
echo "== months"
sql "select $month, count(*), sum(mod_time < $until) from $job where deleted = 0 and time_submit < $until group by 1 order by 1"
echo "== associations"
sql "select id_assoc, acct, user, \`partition\`, grp_tres, max_tres_pj, grp_jobs, max_jobs, max_submit_jobs, def_qos_id, qos
  from \`${cluster}_assoc_table\` where deleted = 0 and mod_time < $until order by 1"
echo "== last"
sql "select distinct id_job from $job where deleted = 0 and time_end > 0 and time_end < $until order by id_job desc limit 100"
[ -n "$jobs" ] || exit 0
echo "== jobs"
TZ=UTC sacct -anPD -j "$jobs" -o \
  JobIDRaw,JobID,User,Account,Partition,QOS,State,ExitCode,Submit,Start,End,Elapsed,ReqTRES,AllocTRES,NodeList,JobName
