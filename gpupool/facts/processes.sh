#!/bin/sh
# Defines outside_of_jobs UID: prints the process ids of a user that are part of no job. A session that sshd has put into
# a job's extern step is not part of the job. A user may give a process any name, and may name control groups below
# user.slice: so only slurmstepd's own groups count, and an ancestor called slurmstepd only if root runs it.

in_job() {
  grep -v ':/user\.slice/' "/proc/$1/cgroup" 2>/dev/null | grep -E '/job_[0-9]+/step_' | grep -qv '/step_extern' && return
  at=$1
  while at=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$at/status" 2>/dev/null) && [ "${at:-0}" -gt 1 ]; do
    ! grep -qx slurmstepd "/proc/$at/comm" 2>/dev/null || ! grep -q '^Uid:[[:space:]]*0[[:space:]]' "/proc/$at/status" ||
      return 0
  done
  return 1
}
outside_of_jobs() {
  grep -lE "^Uid:[[:space:]]+$1[[:space:]]" /proc/[0-9]*/status 2>/dev/null | while IFS=/ read -r _ _ pid _; do
    grep -q '^State:[[:space:]]*[ZX]' "/proc/$pid/status" 2>/dev/null || in_job "$pid" || echo "$pid"
  done
}
