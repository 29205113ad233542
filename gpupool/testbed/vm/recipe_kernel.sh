#!/bin/sh
# Builds ZFS's modules for the installed kernel, and unpacks kernel and modules, which takes an emulated machine seconds.
# $compiler: the text of the wrapper for the kernel's compiler.
# shellcheck disable=SC2013,SC2059,SC2154 # grep prints numbers; printf has first bytes; the caller sets $compiler

abi=$(ls /lib/modules)
for path in /usr/bin/*-gcc-[0-9]*; do
  printf '%s' "$compiler" > "/usr/local/bin/${path##*/}"
  chmod 755 "/usr/local/bin/${path##*/}"
done
for path in /usr/src/zfs-*; do
  dkms install "zfs/${path##*/zfs-}" -k "$abi"
done
rm -rf /usr/local/bin/*-gcc-[0-9]* /tmp/precompiled /etc/dkms/no-autoinstall
find "/lib/modules/$abi" -name '*.ko.xz' -exec xz -d --threads=0 {} +
depmod "$abi"
# Unpack the kernel image: an emulated machine would need seconds for that at each boot.
for how in 'zstd -dcq:\050\265\057\375' 'xz -dcq --single-stream:\3757zXZ'; do
  magic=$(printf "${how#*:}")
  for at in $(LC_ALL=C grep -aboF "$magic" "/boot/vmlinuz-$abi" | cut -d: -f1); do
    tail -c +$((at + 1)) "/boot/vmlinuz-$abi" | ${how%:*} > /boot/vmlinux 2>/dev/null || true
    [ "$(head -c 4 /boot/vmlinux | tail -c 3)" = ELF ] && break 2
  done
done
[ "$(head -c 4 /boot/vmlinux | tail -c 3)" = ELF ] || cp "/boot/vmlinuz-$abi" /boot/vmlinux
