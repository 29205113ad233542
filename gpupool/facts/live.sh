#!/bin/sh
# Prints this node's slurm.conf and slurmctld's configuration; each line begins with a letter and a tab: F line of the
# file, A line of the arbiter's service, C configuration, P partition, N node, T the reason why slurmctld does not answer.
# $1 the file, $2 seconds to wait for each answer of slurmctld, $3 the command that shows the service.

sed 's/^/F	/' -- "$1"
sh -c "$3" 2>/dev/null | sed 's/^/A	/'
say() { # letter, words for scontrol
  letter=$1; shift
  output=$(timeout "$patience" scontrol "$@" 2>&1) || {
    [ -n "$output" ] || output='no answer in time'
    printf 'T\t%s\n' "$(printf '%s\n' "$output" | tail -n 1)"; exit 0
  }
  printf '%s\n' "$output" | sed "s/^/$letter	/"
}
patience=$2
(say C show config && say P -a show partition && say N show node)
