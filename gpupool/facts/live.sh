#!/bin/sh
# Prints slurm.conf as it is on this node, and what slurmctld runs with: each line after a letter and a tab, F of the
# file, A of the arbiter's service, C of the configuration, P a partition, N a node. $1 the file, $2 seconds to wait for
# each answer of slurmctld, $3 the command that shows the service. T is why slurmctld gives no answer.

sed 's/^/F	/' -- "$1"
sh -c "$3" 2>/dev/null | sed 's/^/A	/'
say() { # letter, words for scontrol
  letter=$1; shift
  said=$(timeout "$patience" scontrol "$@" 2>&1) || {
    [ -n "$said" ] || said='no answer in time'
    printf 'T\t%s\n' "$(printf '%s\n' "$said" | tail -n 1)"; exit 0
  }
  printf '%s\n' "$said" | sed "s/^/$letter	/"
}
patience=$2
(say C show config && say P -a show partition && say N show node)
