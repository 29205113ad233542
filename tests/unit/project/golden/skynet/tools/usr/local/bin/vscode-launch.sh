#!/bin/bash
# Written by gpupool; changes made here are undone by the next apply.
# A ProxyCommand of ssh: starts a job with an sshd that runs as the user, and pipes the connection to it. Options of
# salloc come from $SKY_VSC_LAUNCH or the arguments. The job ends with the connection.
set -euo pipefail
key=$HOME/.ssh/gpupool-vscode

help() {
  cat <<'END'
usage: vscode-launch.sh [OPTIONS OF SALLOC]

Start a job and connect VSCode, or any ssh, to it.

A ProxyCommand for ssh on your own machine. It starts a job, waits for its
node, starts your own sshd there, within the job, and pipes the connection to
it. The job ends with the connection. Options are those of salloc; without any,
those in the variable SKY_VSC_LAUNCH.

You log in with a key in ~/.ssh/authorized_keys. The host key of your sessions
is ~/.ssh/gpupool-vscode.

In ~/.ssh/config of your machine, with the head node in place of HEAD: Host
job; ProxyCommand ssh HEAD vscode-launch.sh --gpus=1 --cpus-per-task=6

  -h, --help  this help

  vscode-launch.sh --gpus a40:1 --cpus-per-task 15  one GPU of type a40
END
}

complain() {
  echo "vscode-launch.sh: $1" >&2
  exit 1
}

# Runs as a step of the job: $1 port, $2 host key. The session is a child process of the step, so it has the job's GPUs.
serve() {
  local name settings=()
  for name in CUDA_VISIBLE_DEVICES NV_GPU SCRATCH SLURMD_NODENAME SLURM_CPUS_ON_NODE SLURM_JOB_ID SLURM_JOB_NODELIST; do
    # sshd does not pass its environment to sessions
    [[ -z ${!name-} ]] || settings+=("\"$name=${!name}\"")
  done
  exec /usr/sbin/sshd -D -e -f /dev/null -p "$1" -o HostKey="$2" -o UsePAM=no -o PidFile=none -o LogLevel=ERROR \
    -o PasswordAuthentication=no -o KbdInteractiveAuthentication=no -o AuthorizedKeysFile=.ssh/authorized_keys \
    -o 'Subsystem=sftp internal-sftp' -o "SetEnv ${settings[*]}"
}

# Runs when connect ends: salloc ends the job; if salloc was killed and is no longer the parent, scancel does.
give_back() {
  jobs -p | xargs -r kill 2>/dev/null || :
  (($(ps -o ppid= $$) == PPID)) || scancel --quiet "$SLURM_JOB_ID" || :
}

# Runs on the head within the allocation of one node: reads $SLURM_JOB_ID and $SLURM_JOB_NODELIST.
connect() {
  local port=$((20000 + SLURM_JOB_ID % 10000)) tries
  trap give_back EXIT
  srun --quiet --overlap --nodes=1 --ntasks=1 --input=none \
    bash -c "$(declare -f serve); serve $port '$key'" >&2 &
  local daemon=$!
  for ((tries = 0; tries < 120; tries++)); do
    kill -0 "$daemon" 2>/dev/null || complain "sshd did not start in job $SLURM_JOB_ID; is port $port taken? Try again"
    if exec 3<>"/dev/tcp/$SLURM_JOB_NODELIST/$port"; then break; fi 2>/dev/null
    sleep 0.5
  done
  ((tries < 120)) || complain "$SLURM_JOB_NODELIST:$port does not answer"
  # a background command has no standard input
  exec 4<&0
  cat <&4 >&3 &
  local up=$!
  cat <&3 &
  wait -n "$up" $! "$daemon" || :
}

case ${1-} in
  --help | -h) help; exit ;;
  --connect) connect; exit ;;
esac

options=("$@")
if ((!$#)); then
  [[ -n ${SKY_VSC_LAUNCH-} ]] || complain "set SKY_VSC_LAUNCH, such as '--gpus=1 --cpus-per-task=6' (see --help)"
  list=$(xargs -n1 printf '%s\n' <<<"$SKY_VSC_LAUNCH") || complain "SKY_VSC_LAUNCH has an unmatched quote"
  mapfile -t options <<<"$list"
fi
[[ -s $HOME/.ssh/authorized_keys ]] || complain "no key of yours is in ~/.ssh/authorized_keys: run ssh-copy-id first"
if [[ ! -s $key ]]; then
  # if two start at once, the first key is kept, so that known_hosts remains valid
  ssh-keygen -q -t ed25519 -N '' -C vscode-launch.sh -f "$key.$$"
  ln "$key.$$" "$key" 2>/dev/null || :
  rm -f "$key.$$" "$key.$$.pub"
fi

exec salloc --quiet --job-name=vscode --nodes=1 --ntasks=1 "${options[@]}" "$0" --connect
