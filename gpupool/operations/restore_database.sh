#!/bin/sh
# Restores the accounting database from the backup $file, starts slurmdbd with it, and writes the path to the file $mark.
# $jobs: the maximum number of jobs in the existing database ("": any number). An existing database with jobs is renamed.
# The backup is loaded into another database first; then all tables are renamed at once.
# shellcheck disable=SC2154 # the caller sets file, jobs and mark
# shellcheck disable=SC2016 # backticks are for MariaDB

set -eu
umask 077
old=slurm_acct_db_aside_$(date -u +%Y%m%d%H%M%S)
fail() { echo "$*" >&2; exit 1; }
name=${file##*/}
cd "${file%/*}"
sha256sum --status --strict -c "$name.sha256" || \
  fail "$file: its checksum is wrong; nothing was changed"
gzip -t "$name" || fail "$file cannot be read; nothing was changed"
zcat "$name" | tail -c 200 | grep -q '^-- Dump completed' || fail "$file ends too early; nothing was changed"
mariadb -e 'drop database if exists gpupool_restore; create database gpupool_restore'
zcat "$name" | mariadb gpupool_restore || fail "$file cannot be loaded; nothing was changed"

tables() { mariadb -N -e "select table_name from information_schema.tables where table_schema = '$1'"; }
count() {
  sum=0
  for table in $(tables "$1"); do
    case $table in *_job_table) sum=$((sum + $(mariadb -N -e "select count(*) from \`$1\`.\`$table\`"))) ;; esac
  done
  echo $sum
}
new=$(count gpupool_restore)

systemctl stop slurmdbd
trap 'systemctl start slurmdbd' EXIT
mariadb -e 'create database if not exists slurm_acct_db'
now=$(count slurm_acct_db)
[ -z "$jobs" ] || [ "$now" -le "$jobs" ] || \
  fail "jobs have been recorded in the accounting database meanwhile: it has $now; nothing was changed"
{
  printf 'create database if not exists `%s`; rename table ' "$old"
  {
    for table in $(tables slurm_acct_db); do printf '`slurm_acct_db`.`%s` to `%s`.`%s`\n' "$table" "$old" "$table"; done
    for table in $(tables gpupool_restore); do printf '`gpupool_restore`.`%s` to `slurm_acct_db`.`%s`\n' "$table" "$table"; done
  } | paste -s -d ,
} | mariadb
mariadb -e 'drop database gpupool_restore'
[ "$now" -gt 0 ] || mariadb -e "drop database \`$old\`"
trap - EXIT
systemctl reset-failed slurmdbd 2>/dev/null || :
systemctl start slurmdbd
n=0
until output=$(timeout 30 sacctmgr -nP show cluster 2>&1); do
  n=$((n+1)); [ $n -lt 300 ] || fail "slurmdbd does not answer with the restored database: $output"
  sleep 1
done
[ "$(count slurm_acct_db)" -ge "$new" ] || fail "the database has fewer than the $new jobs of the backup"
mkdir -p "${mark%/*}"
printf '%s\n' "$file" >"$mark"
