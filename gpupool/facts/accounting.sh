#!/bin/sh
# Prints what slurmdbd holds for one cluster, as sacctmgr says it.
# $1 cluster, $2 seconds to wait for slurmdbd, $3 TRES that it must know by then, $4 columns of QoS, $5 of associations.
# A line each, after its kind and |: C cluster, T TRES, Q QoS, A association (WOPLimits: without what it inherits),
# E broken row of another cluster, M rest of a row before it, whose name has a line feed,
# O account of another cluster, U user, K account with its coordinators, R once jobs could be asked for, J job, P QoS
# that a partition names; X instead of all: why there is no answer.

cluster=$1 patience=$2 awaited=$3 qos_columns=$4 assoc_columns=$5
ask() { kind=$1; shift
  rows=$(sacctmgr -nP show "$@" 2>&1) || kind=X
  [ -z "$rows" ] || printf '%s\n' "$rows" | sed "s/^/$kind|/"; }
until said=$(sacctmgr -nP show cluster format=Cluster 2>&1); do
  patience=$((patience-1)); [ "$patience" -gt 0 ] || break; sleep 1
done
# slurmctld tells slurmdbd of its TRES some moments after it has started
known() { tres=$(sacctmgr -nP show tres format=Type,Name 2>/dev/null | tr '|' / | sed 's:/$::')
  for it in $awaited; do printf '%s\n' "$tres" | grep -qxF -- "$it" || return 1; done; }
until known; do patience=$((patience-1)); [ "$patience" -gt 0 ] || break; sleep 1; done
if said=$(sacctmgr -nP show cluster format=Cluster 2>&1); then
  printf '%s\n' "$said" | sed 's/^/C|/'
  ask T tres format=Type,Name
  ask Q qos format="$qos_columns"
  sacctmgr -nP show assoc WOPLimits format="$assoc_columns" 2>&1 |
    awk -F'|' -v own="$cluster" -v clusters="|$(printf %s "$said" | tr '\n' '|')|" '
      $1 == own { print "A|" $0; next }
      $1 == "" || !index(clusters, "|" $1 "|") { print "M|" $0; next }
      NF < 5 { print "E|" $0; next }
      !seen[$2]++ { print "O|" $2 }'
  ask U user where cluster="$cluster" format=User,DefaultAccount,AdminLevel
  ask K account withcoord format=Account,Coordinators
  # who has jobs; a slurmctld that is down would be waited for
  if printf '%s\n' "$said" | grep -qxF -- "$cluster" &&
    said=$(timeout 15 squeue -ha -M "$cluster" -o '%a|%u|%q' 2>/dev/null) &&
    partitions=$(timeout 15 scontrol -ao -M "$cluster" show partition 2>/dev/null); then
    echo 'R|'
    [ -z "$said" ] || printf '%s\n' "$said" | sort -u | sed 's/^/J|/'
    printf '%s\n' "$partitions" | tr ' ' '\n' | sed -n 's/^QoS=\(.*\)$/P|\1/p' | sort -u
  fi
else printf 'X|%s\n' "$(printf '%s' "$said" | tail -n 1)"; fi
