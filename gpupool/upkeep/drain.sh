#!/bin/sh
# Drains nodes or gives them back, and leaves alone what others have drained: looked at just before each.
# $1 drain, resume, $2 how our reason begins, $3 the reason in full (drain), $4... nodes as Slurm calls them.
# Prints "done NODE", or "kept NODE" with the reason of a drain that is not ours.

act=$1 prefix=$2 reason=$3; shift 3
for node in "$@"; do
  # scontrol prints that it does not know a node as if it were an answer
  shown=$(scontrol show node "$node") || { printf '%s\n' "$shown" >&2; exit 1; }
  state=$(printf '%s\n' "$shown" | sed -n 's/^ *State=\([^ ]*\).*/\1/p' | head -n 1)
  why=$(printf '%s\n' "$shown" | sed -n 's/^ *Reason=//p' | head -n 1)
  case $state in
    *DRAIN*)
      by=${why##*\[} # who said so comes last
      case $why,$by in
        "$prefix"*,root@*) ;;
        *) printf 'kept %s %s\n' "$node" "$why"; continue;;
      esac;;
    *) if [ "$act" = resume ]; then printf 'done %s\n' "$node"; continue; fi;;
  esac
  if [ "$act" = drain ]; then scontrol update nodename="$node" state=drain reason="$reason" || exit
  else scontrol update nodename="$node" state=undrain || exit
  fi
  printf 'done %s\n' "$node"
done
