#!/bin/sh
# Restores the accounting database from $file, and has slurmdbd run with it; notes in the file $mark that it did. $jobs: how
# many jobs the one that is there may have at most ("": any number). It is kept under another name, unless it has none.
# The backup is loaded beside it first; then all tables change their places at once.
# shellcheck disable=SC2154 # file, jobs and mark are set before it
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
  for it in $(tables "$1"); do
    case $it in *_job_table) sum=$((sum + $(mariadb -N -e "select count(*) from \`$1\`.\`$it\`"))) ;; esac
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
    for it in $(tables slurm_acct_db); do printf '`slurm_acct_db`.`%s` to `%s`.`%s`\n' "$it" "$old" "$it"; done
    for it in $(tables gpupool_restore); do printf '`gpupool_restore`.`%s` to `slurm_acct_db`.`%s`\n' "$it" "$it"; done
  } | paste -s -d ,
} | mariadb
mariadb -e 'drop database gpupool_restore'
[ "$now" -gt 0 ] || mariadb -e "drop database \`$old\`"
trap - EXIT
systemctl reset-failed slurmdbd 2>/dev/null || :
systemctl start slurmdbd
n=0
until said=$(timeout 30 sacctmgr -nP show cluster 2>&1); do
  n=$((n+1)); [ $n -lt 300 ] || fail "slurmdbd does not answer with what was restored: $said"
  sleep 1
done
[ "$(count slurm_acct_db)" -ge "$new" ] || fail "the database has fewer than the $new jobs of the backup"
mkdir -p "${mark%/*}"
printf '%s\n' "$file" >"$mark"
