#!/bin/sh
# Prints what the accounting database of the cluster $cluster has of what was there at the moment $until (seconds since
# 1970), in parts that begin with `== NAME`: jobs by month, how many of them have not changed since, associations, the
# last jobs that had ended, as numbers; then, of the jobs whose numbers are in $jobs, what sacct says.
# shellcheck disable=SC2154 # cluster, until and jobs are set before it

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
