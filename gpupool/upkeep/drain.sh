#!/bin/sh
# Drains or resumes nodes, except nodes that were drained with another reason; the state is read just before each change.
# $1 drain or resume, $2 the prefix of gpupool's reason, $3 the whole reason (for drain), $4... nodes by Slurm's names.
# Prints "done NODE", or "kept NODE" with the other reason.

act=$1 prefix=$2 reason=$3; shift 3
for node in "$@"; do
  # scontrol prints its error about an unknown node on standard output
  shown=$(scontrol show node "$node") || { printf '%s\n' "$shown" >&2; exit 1; }
  state=$(printf '%s\n' "$shown" | sed -n 's/^ *State=\([^ ]*\).*/\1/p' | head -n 1)
  why=$(printf '%s\n' "$shown" | sed -n 's/^ *Reason=//p' | head -n 1)
  case $state in
    *DRAIN*)
      by=${why##*\[} # the reason ends with [USER@TIME]
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
