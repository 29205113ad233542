#!/bin/bash
# Written by gpupool; changes made here are undone by the next apply.
# Prints the utilization of the GPUs of a running job of the caller as CSV. $1 is the job's id.
set -euo pipefail

help() {
  cat <<'END'
usage: getUtilByJobId.sh [-s SECONDS] JOBID

Show the utilization of the GPUs of your running job.

Runs nvidia-smi in the job, for its GPUs only, and prints lines of CSV until
you press Ctrl-C. The job keeps all its resources.

  -s, --seconds N  seconds between two lines (5)
  -h, --help       this help

  getUtilByJobId.sh 123    job 123
  getUtilByJobId.sh 123_4  a task of an array
END
}

complain() {
  echo "getUtilByJobId.sh: $1" >&2
  exit "${2:-1}"
}

# Runs as a step in the job: $1 seconds between two lines, $2 number of nodes of the job.
watch_gpus() {
  local fields=index,timestamp,utilization.gpu,utilization.memory,memory.used,memory.total header=csv prefix=
  [[ -n ${CUDA_VISIBLE_DEVICES-} ]] || { echo "getUtilByJobId.sh: the job has no GPU on $SLURMD_NODENAME" >&2; exit 1; }
  (($2 == 1)) || prefix="$SLURMD_NODENAME, "
  while nvidia-smi --id="$CUDA_VISIBLE_DEVICES" --query-gpu="$fields" --format="$header" | sed "s/^/$prefix/"; do
    header=csv,noheader
    sleep "$1"
  done
}

options=$(getopt -n getUtilByJobId.sh -o s:h -l seconds:,help -- "$@") || complain "--help lists the options" 2
eval "set -- $options"
seconds=5
while [[ $1 != -- ]]; do
  case $1 in
    -s | --seconds) seconds=$2 ;;
    -h | --help) help; exit ;;
  esac
  shift 2
done
shift

(($# == 1)) || complain "name one job: getUtilByJobId.sh JOBID" 2
[[ $1 =~ ^[0-9]+(_[0-9]+)?$ ]] || complain "'$1' is not a job's id" 2
[[ $seconds =~ ^[1-9][0-9]{0,4}$ ]] || complain "--seconds: '$seconds' is not a whole number of seconds" 2

answer=$(squeue --noheader --states=all --jobs="$1" --format='%A|%u|%T|%D' 2>&1) || complain "job $1: $answer"
[[ -n $answer ]] || complain "there is no job $1 in the queue"
[[ $answer != *$'\n'* ]] || complain "job $1 is an array: name one of its tasks, such as $1_1"
IFS='|' read -r job user state nodes <<<"$answer"
[[ $user == "$(id -un)" ]] || complain "job $1 is of $user: you can only look at your own jobs"
[[ $state == RUNNING ]] || complain "job $1 does not run: it is $state"

echo "GPUs of job $1, every $seconds s, until you press Ctrl-C. utilization.gpu: share of the time in which it computed."
exec srun --quiet --quit-on-interrupt --overlap --jobid="$job" --nodes="$nodes" --ntasks="$nodes" --ntasks-per-node=1 \
  --input=none bash -c "$(declare -f watch_gpus); watch_gpus $seconds $nodes"
