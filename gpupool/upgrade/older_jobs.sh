#!/bin/sh
# Prints each version of slurmd that was replaced on this node: the time (seconds since 1970), and the version.
# $1 is dpkg's log; rotated logs have more after this name.
export LC_ALL=C
zcat -f "$1" "$1".* 2>/dev/null |
  awk '$3 ~ /^(upgrade|remove)$/ && $4 ~ /^(slurm-smd-)?slurmd(:|$)/ { print $1, $2, $5 }' |
  while read -r day time version; do
    printf '%s %s\n' "$(date -d "$day $time" +%s)" "$version"
  done
