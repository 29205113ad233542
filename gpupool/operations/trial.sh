#!/bin/sh
# Tests new files of Slurm on a controller. Fails, with the reason on standard error, if slurmctld would not start with
# them or would end jobs. $1 slurm.conf; new files have the suffix $GPUPOOL_NEW and are in the same folder.

set -u; umask 077
conf=$1; etc=${conf%/*}
command -v slurmctld >/dev/null || exit 0 # this node only reads slurm.conf: a controller has tested it
value() { sed -nE "s/^[[:space:]]*$1[[:space:]]*=[[:space:]]*([^[:space:]#]*).*/\1/Ip" "$2" 2>/dev/null | tail -n 1; }
laid() { find "$etc" -maxdepth 1 -name "*$GPUPOOL_NEW"; } # new files of this run
new=$(laid | grep -xF -- "$conf$GPUPOOL_NEW" || echo "$conf")
user=$(value SlurmUser "$new"); user=${user%%(*}; user=${user:-root}
for left in /run/gpupool-trial.*; do # of a trial that was killed: the process in the name is not a trial
  owner=${left#*-trial.}; owner=${owner%%.*}
  grep -q gpupool-trial "/proc/$owner/cmdline" 2>/dev/null || rm -rf -- "$left"
done
dir=$(mktemp -d "/run/gpupool-trial.$$.XXXXXX"); trap 'rm -rf -- "$dir"' EXIT; chmod 711 "$dir"
prepare() { # now or new: a folder with Slurm's files, without references to anything outside; line numbers are kept
  at=$dir/$1; mkdir "$at" "$at/state"
  for file in "$etc"/*.conf "$etc"/*.lua; do [ ! -f "$file" ] || cp -- "$file" "$at/"; done
  [ "$1" = now ] || laid | while read -r file; do to=${file##*/}; cp -- "$file" "$at/${to%"$GPUPOOL_NEW"}"; done
  rm -f -- "$at/slurmdbd.conf"; chown -R -- "$user" "$at"
  runuser -u "$user" -- sh -c '
    for file in job_state node_state part_state resv_state last_tres last_config_lite assoc_mgr_state clustername; do
      cp -- "$1/$file" "$2/"; done
    # a batch job without a script fails; an empty file is enough
    cd "$1" && find hash.* -name script > "$2/scripts"
    cd "$2" && sed "s:/script$::" scripts | xargs -r mkdir -p -- && xargs -r touch -- < scripts
  ' sh "$(value StateSaveLocation "$at/slurm.conf")" "$at/state" 2>/dev/null
  sed -E -i -e '/^[[:space:]]*(SlurmctldHost|ControlMachine|BackupController|StateSaveLocation'\
'|SlurmctldPrimaryO[A-Z]*Prog|Slurmctld(Addr|Port|PidFile|LogFile|SyslogDebug|Debug)|AccountingStorage(Type|Host|Port|BackupHost|Pass|TRES)'\
'|JobComp[A-Z]*|MailProg|(Pro|Epi)logSlurmctld|(Resume|ResumeFail|Suspend|Reboot)Program)[[:space:]]*=/Is/^/#/' \
    -e '/^[[:space:]]*PartitionName=/Is/[[:space:]](QOS|AllowQos|DenyQos)=[^[:space:]]*//Ig' \
    -e '/^[[:space:]]*NodeName=(DEFAULT[[:space:]])?/I{/=DEFAULT[[:space:]]/Ib;s/[[:space:]]NodeAddr=[^[:space:]]*//I' \
    -e 's/[[:space:]]*$/ NodeAddr=192.0.2.1/}' "$at/slurm.conf"
  if [ -s "$at/state/last_tres" ]; then # slurmdbd's last answer, without new TRES
    kind=slurmdbd; tres=$(value AccountingStorageTRES "$conf")
  else
    kind=none; tres=; sed -E -i '/^[[:space:]]*AccountingStorageEnforce[[:space:]]*=/Is/^/#/' "$at/slurm.conf"
  fi
  [ "$tres" = "$(value AccountingStorageTRES "$new")" ] || sed -E -i \
    -e 's/[[:space:]]TRESBillingWeights=[^[:space:]]*//Ig' \
    -e '/^[[:space:]]*PriorityWeightTRES[[:space:]]*=/Is/^/#/' "$at/slurm.conf"
  printf '%s\n' "SlurmctldHost=$(hostname -s)(192.0.2.1)" "StateSaveLocation=$at/state" "SlurmctldPidFile=$at/pid" \
    SlurmctldDebug=info MailProg=/bin/true "AccountingStorageType=accounting_storage/$kind" \
    AccountingStorageHost=192.0.2.1 ${tres:+"AccountingStorageTRES=$tres"} >> "$at/slurm.conf"
}
RUN='
at=$1 user=$2
ip link set lo up && ip address add 192.0.2.1/32 dev lo || exit 90
runuser -u "$user" -- slurmctld -D -f "$at/slurm.conf" > "$at/log" 2>&1 & daemon=$!
until grep -q "Running as primary controller" "$at/log"; do kill -0 "$daemon" 2>/dev/null || exit 91; sleep 0.05; done
SLURM_CONF=$at/slurm.conf squeue -a -h -o "%i|%t|%u|%P" > "$at/jobs" || exit 92
'
start() { # 0: slurmctld runs, and the folder has its jobs; 91: it ended; 93: unknown; all processes end with the shell
  prepare "$1"; touch "$dir/$1/log"
  timeout -s KILL 60 unshare -n -p -f --kill-child sh -c "$RUN" sh "$dir/$1" "$user" 2>/dev/null
  case $? in 0) return 0;; 91) return 91;; 137) return 137;; esac
  # without a namespace, at least all keys are checked, which needs no daemon
  SLURM_CONF=$dir/$1/slurm.conf scontrol show hostnames a > "$dir/$1/log" 2>&1 || return 91
  return 93
}
words() {
  sed -nE "s:^(\[[^]]*\] |[a-z]+\: )::; s:$dir/$1:$etc:g; s/^(error|fatal)\: ([a-z_]+\: )?//p" "$dir/$1/log"
}
start new; came=$?
stood=none; [ ! -f "$conf" ] || { start now; stood=$?; }
case $came/$stood in
  0/0) ;;
  137/*) echo "slurmctld is not ready with it after 60 s; is this node overloaded? Run it again" >&2; exit 1;;
  91/0|91/93|91/none)
    touch "$dir/now.words"; [ "$stood" = none ] || words now > "$dir/now.words"
    output=$(words new | grep -vxF -f "$dir/now.words" -e 'Unable to process configuration file' | awk '!seen[$0]++' |
      head -n 2)
    where=
    for word in $(printf '%s' "$output" | grep -v ' line [0-9]' | tr -c 'A-Za-z0-9_' ' '); do
      line=$(grep -niE -m 1 "^[[:space:]]*${word}[[:space:]]*=" "$new") || continue
      where="line ${line%%:*} (${line#*:}): "; break
    done
    output=$(printf '%s' "$output" | tr '\n' ';' | sed 's/;/; /g')
    printf '%s\n' "slurmctld would not start with it: $where$output" >&2; exit 1;;
  *) exit 0;; # unknown
esac
# running jobs that would not run, and pending jobs that would be missing
awk -F'|' '{ at[FILENAME, $1] = $2; line[FILENAME, $1] = $0 }
  END { for (key in at) { split(key, part, SUBSEP); if (part[1] != ARGV[2]) continue
    was = at[key]; is = at[ARGV[1], part[2]]; run = "^(R|S|ST|CF)$"
    if (was != "CG" && (is == "" || (was ~ run && is !~ run))) print line[key] } }' \
  "$dir/new/jobs" "$dir/now/jobs" | sort -n > "$dir/lost"
[ -s "$dir/lost" ] || exit 0
# the state on disk is some seconds old: ignore jobs that have ended since
if timeout 10 squeue -a -h -o '%i|%t' > "$dir/live"; then
  awk -F'[|_]' 'FILENAME == ARGV[1] { if ($NF != "CG") live[$1]; next } $1 in live' \
    "$dir/live" "$dir/lost" > "$dir/still" && mv -- "$dir/still" "$dir/lost"
fi
[ -s "$dir/lost" ] || exit 0
many=$(wc -l < "$dir/lost")
some=$(head -n 5 "$dir/lost" | awk -F'|' '{ printf "%s%s (%s, %s)", (NR > 1 ? ", " : ""), $1, $3, $4 }')
[ "$many" -le 5 ] || some="$some, …"
printf '%s\n' "slurmctld would end $many of the jobs with it: $some; let them end first" >&2; exit 1
