#!/bin/sh
# Starts dockerd with control groups v1 if the host's controllers are in v1: then v2 has none.
# The mount namespace is kept, so that dockerd finds the mounts of running containers after a restart.

kept=/run/dockerd/mounts
[ -d /cg1/cpuset ] || exec /usr/sbin/dockerd "$@"
if ! mountpoint -q $kept; then
  mkdir -p ${kept%/*} && mount --bind ${kept%/*} ${kept%/*} && mount --make-private ${kept%/*} || exit 90
  : > $kept
  # The kernel lets only an older namespace keep this one. It compares sequence numbers, which each CPU assigns
  # separately: so try the CPUs in turn.
  for cpu in $(seq 0 $(($(nproc --all) - 1))); do
    taskset -c "$cpu" unshare --mount=$kept --propagation=slave sh -c '
      mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup || exit
      for path in /cg1/*; do
        mkdir "/sys/fs/cgroup/${path##*/}" && mount --bind "$path" "/sys/fs/cgroup/${path##*/}" || exit
      done' && break
    ! mountpoint -q $kept || umount -l $kept
  done
  mountpoint -q $kept || exit 91
fi
exec nsenter --mount=$kept /usr/sbin/dockerd "$@"
