#!/bin/sh
# Starts dockerd with the control groups of v1 where a host has its controllers there: v2 has none to give then.
# The mount namespace is kept, so that a dockerd that starts again finds the mounts of containers that run.

kept=/run/dockerd/mounts
[ -d /cg1/cpuset ] || exec /usr/sbin/dockerd "$@"
if ! mountpoint -q $kept; then
  mkdir -p ${kept%/*} && mount --bind ${kept%/*} ${kept%/*} && mount --make-private ${kept%/*} || exit 90
  : > $kept
  unshare --mount=$kept --propagation=slave sh -c '
    mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup || exit
    for path in /cg1/*; do
      mkdir "/sys/fs/cgroup/${path##*/}" && mount --bind "$path" "/sys/fs/cgroup/${path##*/}" || exit
    done' || { umount -l $kept; exit 91; }
fi
exec nsenter --mount=$kept /usr/sbin/dockerd "$@"
