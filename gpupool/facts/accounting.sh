#!/bin/sh
# Prints slurmdbd's entities of one cluster, in sacctmgr's format.
# $1 cluster, $2 seconds to wait for slurmdbd, $3 TRES that slurmdbd must have, $4 columns of QoS, $5 of associations.
# Each line begins with its kind and |: C cluster, T TRES, Q QoS, A association (without inherited limits), E broken row of
# another cluster, M rest of a row whose name has a line feed, O account of another cluster, U user, K account with its
# coordinators, R if slurmctld answers, then J account, user and QoS of jobs, W the same with the number of pending jobs
# (arrays count once) and of others, and P QoS of a partition. X, instead of all others: the reason why there
# is no answer.

cluster=$1 patience=$2 awaited=$3 qos_columns=$4 assoc_columns=$5
ask() { kind=$1; shift
  rows=$(sacctmgr -nP show "$@" 2>&1) || kind=X
  [ -z "$rows" ] || printf '%s\n' "$rows" | sed "s/^/$kind|/"; }
until output=$(sacctmgr -nP show cluster format=Cluster 2>&1); do
  patience=$((patience-1)); [ "$patience" -gt 0 ] || break; sleep 1
done
# slurmctld sends its TRES to slurmdbd a few moments after its start
known() { tres=$(sacctmgr -nP show tres format=Type,Name 2>/dev/null | tr '|' / | sed 's:/$::')
  for name in $awaited; do printf '%s\n' "$tres" | grep -qxF -- "$name" || return 1; done; }
until known; do patience=$((patience-1)); [ "$patience" -gt 0 ] || break; sleep 1; done
if output=$(sacctmgr -nP show cluster format=Cluster 2>&1); then
  printf '%s\n' "$output" | sed 's/^/C|/'
  ask T tres format=Type,Name
  ask Q qos format="$qos_columns"
  sacctmgr -nP show assoc WOPLimits format="$assoc_columns" 2>&1 |
    awk -F'|' -v own="$cluster" -v clusters="|$(printf %s "$output" | tr '\n' '|')|" '
      $1 == own { print "A|" $0; next }
      $1 == "" || !index(clusters, "|" $1 "|") { print "M|" $0; next }
      NF < 5 { print "E|" $0; next }
      !seen[$2]++ { print "O|" $2 }'
  ask U user where cluster="$cluster" format=User,DefaultAccount,AdminLevel
  ask K account withcoord format=Account,Coordinators
  # jobs; with a time limit, because squeue would wait for a slurmctld that is down
  if printf '%s\n' "$output" | grep -qxF -- "$cluster" &&
    output=$(timeout 15 squeue -ha -M "$cluster" -o '%a|%u|%q|%t' 2>/dev/null) &&
    partitions=$(timeout 15 scontrol -ao -M "$cluster" show partition 2>/dev/null); then
    echo 'R|'
    [ -z "$output" ] || printf '%s\n' "$output" | awk -F'|' '
      NF == 4 { job = $1 "|" $2 "|" $3; jobs[job]; pending[job] += $4 == "PD"; others[job] += $4 != "PD" }
      END { for (job in jobs) { print "J|" job; print "W|" job "|" pending[job] "|" others[job] } }' | sort
    printf '%s\n' "$partitions" | tr ' ' '\n' | sed -n 's/^QoS=\(.*\)$/P|\1/p' | sort -u
  fi
else printf 'X|%s\n' "$(printf '%s' "$output" | tail -n 1)"; fi
