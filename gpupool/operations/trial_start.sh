#!/bin/sh
# Functions that start a second slurmctld in a network namespace, with the current or the new files of Slurm and a copy of
# its state. $1 is the path of the current slurm.conf; new files are beside it, with the suffix $GPUPOOL_NEW. $saved: the
# directory of the state, by default that of slurm.conf. `start now` or `start new` write the folder $dir/now or $dir/new:
# `jobs` with the columns of squeue, and `log`. $cluster_id: the ClusterID of a state that has none, "" for none.

set -u; umask 077
conf=$1; etc=${conf%/*}
command -v slurmctld >/dev/null || exit 0 # this node only reads slurm.conf: a controller has tested it
value() { sed -nE "s/^[[:space:]]*$1[[:space:]]*=[[:space:]]*([^[:space:]#]*).*/\1/Ip" "$2" 2>/dev/null | tail -n 1; }
new_files() { find "$etc" -maxdepth 1 -name "*$GPUPOOL_NEW"; }
new=$(new_files | grep -xF -- "$conf$GPUPOOL_NEW" || echo "$conf")
user=$(value SlurmUser "$new"); user=${user%%(*}; user=${user:-root}
for left in /run/gpupool-trial.*; do # of killed trials: the PID in the name is no longer a trial
  pid=${left#*-trial.}; pid=${pid%%.*}
  grep -q gpupool-trial "/proc/$pid/cmdline" 2>/dev/null || rm -rf -- "$left"
done
dir=$(mktemp -d "/run/gpupool-trial.$$.XXXXXX"); trap 'rm -rf -- "$dir"' EXIT; chmod 711 "$dir"
# Copies the current (now) or the new files to a folder, and comments out each setting that refers to anything outside
# of it; so the line numbers in errors stay right.
prepare() { # now or new
  at=$dir/$1; mkdir "$at" "$at/state"
  for file in "$etc"/*.conf "$etc"/*.lua; do [ ! -f "$file" ] || cp -- "$file" "$at/"; done
  [ "$1" = now ] || new_files | while read -r file; do to=${file##*/}; cp -- "$file" "$at/${to%"$GPUPOOL_NEW"}"; done
  rm -f -- "$at/slurmdbd.conf"; chown -R -- "$user" "$at"
  runuser -u "$user" -- sh -c '
    for file in job_state node_state part_state resv_state last_tres last_config_lite assoc_mgr_state clustername; do
      cp -- "$1/$file" "$2/"; done
    # a batch job without a script fails; an empty file is enough
    cd "$1" && find hash.* -name script > "$2/scripts"
    cd "$2" && sed "s:/script$::" scripts | xargs -r mkdir -p -- && xargs -r touch -- < scripts
  ' sh "${saved:-$(value StateSaveLocation "$at/slurm.conf")}" "$at/state" 2>/dev/null
  sed -E -i -e '/^[[:space:]]*(SlurmctldHost|ControlMachine|BackupController|StateSaveLocation'\
'|SlurmctldPrimaryO[A-Z]*Prog|Slurmctld(Addr|Port|PidFile|LogFile|SyslogDebug|Debug)|AccountingStorage(Type|Host|Port|BackupHost|Pass|TRES)'\
'|JobComp[A-Z]*|MailProg|(Pro|Epi)logSlurmctld|(Resume|ResumeFail|Suspend|Reboot)Program)[[:space:]]*=/Is/^/#/' \
    -e '/^[[:space:]]*PartitionName=/Is/[[:space:]](QOS|AllowQos|DenyQos)=[^[:space:]]*//Ig' \
    -e '/^[[:space:]]*NodeName=(DEFAULT[[:space:]])?/I{/=DEFAULT[[:space:]]/Ib;s/[[:space:]]NodeAddr=[^[:space:]]*//I' \
    -e 's/[[:space:]]*$/ NodeAddr=192.0.2.1/}' "$at/slurm.conf"
  # without a ClusterID, slurmctld waits for slurmdbd; a release before ClusterIDs ends at once if there is one
  name=$at/state/clustername
  [ -z "${cluster_id-}" ] || [ ! -s "$name" ] || grep -qF '|' "$name" || printf '|%s' "$cluster_id" >> "$name"
  if [ -s "$at/state/last_tres" ]; then # slurmctld uses slurmdbd's last answer, which lacks new TRES
    storage=slurmdbd; tres=$(value AccountingStorageTRES "$conf")
  else # without accounts, slurmctld 24.11 crashes in half of its starts if PriorityFlags has NO_FAIR_TREE
    storage=none; tres=
    sed -E -i '/^[[:space:]]*(AccountingStorageEnforce|PriorityFlags)[[:space:]]*=/Is/^/#/' "$at/slurm.conf"
  fi
  [ "$tres" = "$(value AccountingStorageTRES "$new")" ] || sed -E -i \
    -e 's/[[:space:]]TRESBillingWeights=[^[:space:]]*//Ig' \
    -e '/^[[:space:]]*PriorityWeightTRES[[:space:]]*=/Is/^/#/' "$at/slurm.conf"
  printf '%s\n' "SlurmctldHost=$(hostname -s)(192.0.2.1)" "StateSaveLocation=$at/state" "SlurmctldPidFile=$at/pid" \
    SlurmctldDebug=info MailProg=/bin/true "AccountingStorageType=accounting_storage/$storage" \
    AccountingStorageHost=192.0.2.1 ${tres:+"AccountingStorageTRES=$tres"} >> "$at/slurm.conf"
}
RUN='
at=$1 user=$2
ip link set lo up && ip address add 192.0.2.1/32 dev lo || exit 90
runuser -u "$user" -- slurmctld -D -f "$at/slurm.conf" > "$at/log" 2>&1 & daemon=$!
until grep -q "Running as primary controller" "$at/log"; do kill -0 "$daemon" 2>/dev/null || exit 91; sleep 0.05; done
SLURM_CONF=$at/slurm.conf squeue -a -h -o "%i|%t|%u|%P|%A" > "$at/jobs" || exit 92
'
# Starts slurmctld with these files. 0: it ran, and the folder has its list of jobs; 91: it ended; 137: it was not ready
# after 60 s; 93: unknown. All processes end with the shell.
start() { # now or new
  prepare "$1"; touch "$dir/$1/log"
  timeout -s KILL 60 unshare -n -p -f --kill-child sh -c "$RUN" sh "$dir/$1" "$user" 2>/dev/null
  case $? in 0) return 0;; 91) return 91;; 137) return 137;; esac
  # without a namespace, scontrol at least reads the files and reports unknown keys, without a daemon
  SLURM_CONF=$dir/$1/slurm.conf scontrol show hostnames a > "$dir/$1/log" 2>&1 || return 91
  return 93
}
error_messages() {
  sed -nE "s:^(\[[^]]*\] |[a-z]+\: )::; s:$dir/$1:$etc:g; s/^(error|fatal)\: ([a-z_]+\: )?//p" "$dir/$1/log"
}
