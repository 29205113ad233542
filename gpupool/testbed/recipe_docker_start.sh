#!/bin/sh
# Starts dockerd with the control groups of v1 where a host has its controllers there: v2 has none to give then.
# The mount namespace is kept, so that a dockerd that starts again finds the mounts of containers that run.

kept=/run/dockerd/mounts
[ -d /cg1/cpuset ] || exec /usr/sbin/dockerd "$@"
if ! mountpoint -q $kept; then
  mkdir -p ${kept%/*} && mount --bind ${kept%/*} ${kept%/*} && mount --make-private ${kept%/*} || exit 90
  : > $kept
  # A namespace is kept in one that is older, says the kernel, and goes by numbers that each CPU gives on its own.
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
