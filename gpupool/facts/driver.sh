#!/bin/sh
# Prints the state of a node's GPU driver, with tabs: "P STATE NAME VERSION" for each package, "M VERSION" for the loaded
# module, "N" if nouveau is loaded, "J JOB" for each job with a process here, "U JOB of USER" for each of slurmctld's jobs
# here, "A" if slurmd runs, "S LINE" for each line of scontrol about the node. $1 the node's name in Slurm, $2... names of
# packages, with * and ?.

name=$1; shift
dpkg-query -W -f='P\t${db:Status-Abbrev}\t${Package}\t${Version}\n' "$@" 2>/dev/null
sed -n 's/^NVRM version: .* Kernel Module.*  \([0-9][0-9]*\.[0-9.]*\)  .*/M\t\1/p' /proc/driver/nvidia/version 2>/dev/null
[ ! -d /sys/module/nouveau ] || echo N
jobs=$(ps -u 0 -o args= | sed -n 's/^slurmstepd: \[\([0-9]*\)\..*/\1/p' | sort -u)
[ -z "$jobs" ] || printf '%s\n' "$jobs" | sed 's/^/J\t/'
[ -z "$jobs" ] || timeout 5 squeue -h -w "$name" -t running,suspended,completing -o 'U	%A of %u' 2>/dev/null
! systemctl is-active --quiet slurmd || echo A
timeout 5 scontrol show node "$name" 2>/dev/null | sed 's/^/S\t/'
