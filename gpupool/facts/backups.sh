#!/bin/sh
# Prints the backups of a node as JSON, from the node's backup program $1; `restored PATH`, from the file $2; and
# `jobs NUMBER`, the jobs in the accounting database, if MariaDB answers.

[ ! -x "$1" ] || "$1" list || :
[ ! -r "$2" ] || echo "restored $(head -n 1 "$2")"
all='select table_name from information_schema.tables where table_schema = "slurm_acct_db" and table_name like "%\_job\_table"'
if tables=$(mariadb -N -e "$all" 2>/dev/null); then
  jobs=0
  for table in $tables; do
    jobs=$((jobs + $(mariadb -N -e "select count(*) from \`slurm_acct_db\`.\`$table\`")))
  done
  echo "jobs $jobs"
fi
