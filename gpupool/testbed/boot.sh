#!/bin/sh
# Runs at each start of a container before systemd, and turns docker's environment into that of a machine.
# $resolv: text of resolv.conf ("" for docker's). $login: public key with which root logs in. $controllers of cgroup v1
# (or none) to mount below $v1. $devices: NAME:MINOR of GPUs, $major: their major device number. $testbed: the testbed
# that this node may switch on and off ("" for none).
# shellcheck disable=SC2154 # the caller sets them

# a private cgroup2 tree, in which systemd can move processes
umount -R /sys/fs/cgroup 2>/dev/null
mkdir -p /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup || exit 90
for name in $controllers; do
  mkdir -p "$v1/$name" && mount -t cgroup -o "$name" cgroup "$v1/$name"
done
# Replace docker's bind mounts in /etc by plain files, which tools can replace by rename; later starts keep them.
own() {
  grep -q " /etc/$1 " /proc/self/mounts || return 0
  cat "/etc/$1" > "/run/docker-$1"
  umount "/etc/$1" || return 0
  [ -e "/var/lib/container/own-$1" ] && return 0
  { if [ -n "$2" ]; then printf %s "$2"; else cat "/run/docker-$1"; fi; } > "/etc/.$1.new"
  mv -f "/etc/.$1.new" "/etc/$1" && : > "/var/lib/container/own-$1"
}
mkdir -p /var/lib/container
own hosts ""
own hostname ""
own resolv.conf "$resolv"
# Mask mounts of file systems that this kernel lacks: they would fail at each boot.
mkdir -p /run/systemd/system
grep -qw rpc_pipefs /proc/filesystems || ln -sf /dev/null /run/systemd/system/run-rpc_pipefs.mount
grep -qw nfsd /proc/filesystems || ln -sf /dev/null /run/systemd/system/proc-fs-nfsd.mount
# The machine id and the host key, created once.
[ -s /etc/machine-id ] || tr -d - < /proc/sys/kernel/random/uuid > /etc/machine-id
key=/etc/ssh/ssh_host_ed25519_key
if ! [ -s $key.pub ]; then
  rm -f $key $key.new $key.new.pub
  ssh-keygen -q -t ed25519 -N "" -C "root@$(hostname)" -f $key.new && mv -f $key.new $key && mv -f $key.new.pub $key.pub
fi
[ -d /root/.ssh ] || mkdir -m 0700 /root/.ssh
grep -qsF -- "$login" /root/.ssh/authorized_keys || echo "$login" >> /root/.ssh/authorized_keys
for device in $devices; do
  [ -e "/dev/${device%:*}" ] || mknod -m 666 "/dev/${device%:*}" c "$major" "${device#*:}"
done
[ -z "$testbed" ] || echo "$testbed" > /root/testbed
exec /lib/systemd/systemd
