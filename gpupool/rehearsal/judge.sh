#!/bin/sh
# Starts a slurmctld with the files in /judge/now and then with those in /judge/new, and prints how it understands them.
# $names: host names in the files. Prints for each: `== FOLDER`, then `refused` and the reasons, or what scontrol shows.
# shellcheck disable=SC2154 # the caller sets names

set -eu
ip link set lo up
ip address add 192.0.2.1/32 dev lo
for name in $(hostname) $names; do echo "192.0.2.1 $name"; done >> /etc/hosts
mkdir -p /etc/slurm /etc/munge /run/munge /var/log/munge /var/lib/munge
head -c 1024 /dev/urandom > /etc/munge/munge.key
chmod 400 /etc/munge/munge.key; chmod 711 /run/munge
chown munge:munge /etc/munge/munge.key /run/munge /var/log/munge /var/lib/munge
setsid runuser -u munge -- munged </dev/null >/dev/null 2>&1
value() { sed -nE "s/^[[:space:]]*$1[[:space:]]*=[[:space:]]*\"?([^[:space:]\"#]*).*/\1/Ip" /etc/slurm/slurm.conf | tail -n 1; }
# Slurm's default for each folder, and the folder itself where slurmctld would not make it
folders() {
  user=$(value SlurmUser); user=${user%%(*}; user=${user:-root}
  case $user in *[!0-9]*) id "$user" >/dev/null 2>&1 || useradd --system "$user" >/dev/null 2>&1 || true;; esac
  state=$(value StateSaveLocation); state=${state:-/var/spool}
  mkdir -p "$state" && chown "$user" "$state" && rm -f "$state/clustername"
  for key in SlurmctldLogFile SlurmctldPidFile SlurmSchedLogFile SlurmdSpoolDir; do
    path=$(value $key); case $path in /*/*) mkdir -p "${path%/*}" && chown "$user" "${path%/*}";; esac
  done
}
ready() { timeout 5 scontrol ping 2>/dev/null | grep -q UP; }
try() {
  rm -rf /etc/slurm; cp -r "/judge/$1" /etc/slurm
  head -c 1024 /dev/urandom > /etc/slurm/slurm.key; chmod 600 /etc/slurm/slurm.key
  folders >/dev/null 2>&1 || true
  chown "$user" /etc/slurm/slurm.key || true
  echo "== $1"
  slurmctld -D -i -c </dev/null >"/judge/$1.log" 2>&1 & daemon=$!
  end=$(($(date +%s)+60))
  until ready; do
    if [ "$(date +%s)" -ge $end ] || ! kill -0 $daemon 2>/dev/null; then
      kill -KILL $daemon 2>/dev/null || true
      echo refused
      log=$(value SlurmctldLogFile); [ -f "$log" ] || log=
      cat "/judge/$1.log" ${log:+"$log"} | sed -nE 's/^(\[[^]]*\] |[a-z]+: )*(fatal|error): /\2: /p'
      return
    fi
    sleep 0.1
  done
  for what in config node partition; do
    echo "-- $what"
    scontrol --all --oneliner show $what
  done
  kill -KILL $daemon
  wait $daemon 2>/dev/null || true
}
try now
try new
