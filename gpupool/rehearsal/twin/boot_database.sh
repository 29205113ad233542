#!/bin/sh
# Starts munge and MariaDB in a twin, and ends when MariaDB answers. $state: slurmctld's state directory.
# Daemons do not get this script's standard output: `docker exec` would not end while a daemon has it open.
# shellcheck disable=SC2154 # the caller sets state

set -eu
fail() { echo "$*" >&2; exit 1; }
# retries a command every 0.1 s, at most 1200 times
patiently() { n=0; until "$@" >/dev/null 2>&1; do n=$((n+1)); [ $n -lt 1200 ] || return 1; sleep 0.1; done; }
mkdir -p /etc/munge /run/munge /var/log/munge /var/lib/munge /var/spool/slurmd /var/log/slurm
mkdir -p "$state" /run/mysqld /run/mariadbd
head -c 1024 /dev/urandom > /etc/munge/munge.key
chmod 400 /etc/munge/munge.key; chmod 711 /run/munge
chown munge:munge /etc/munge/munge.key /run/munge /var/log/munge /var/lib/munge
chown slurm:slurm /var/log/slurm "$state"; chown mysql:mysql /run/mysqld /run/mariadbd
setsid runuser -u munge -- /usr/sbin/munged --num-threads 8 </dev/null >/dev/null 2>&1 || fail "munged did not start"
setsid runuser -u mysql -- mariadbd </dev/null >/var/log/mariadbd.log 2>&1 &
sql="create database if not exists slurm_acct_db;
  create user if not exists slurm@localhost identified via unix_socket;
  grant all on slurm_acct_db.* to slurm@localhost"
patiently mariadb -e "$sql" || fail "MariaDB does not answer: $(tail -n 1 /var/log/mariadbd.log)"
