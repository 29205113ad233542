#!/bin/sh
# Prints what a node knows of itself, for `adopt --from`. It only reads. Each line has a tab: hardware and a line of
# `slurmd -C`; gres and a line of `slurmd -G`; source and where slurmd has slurm.conf from; mount and a mounted network
# file system; end.

export LC_ALL=C
pid=$(pgrep -o -x slurmd)
daemon=$(readlink "/proc/$pid/exe" 2>/dev/null || PATH=$PATH:/opt/slurm/sbin:/usr/local/sbin command -v slurmd)
if [ -n "$daemon" ]; then
  timeout 20 "$daemon" -C 2>/dev/null | sed 's/^/hardware\t/'
  timeout 20 "$daemon" -G 2>&1 | sed -n 's/^.*Gres Name=/gres\tName=/p'
fi
[ -z "$pid" ] || started=$(tr '\0' '\n' <"/proc/$pid/cmdline"; tr '\0' '\n' <"/proc/$pid/environ" | sed -n 's/^SLURM_CONF=/-f\n/p')
given=$(printf '%s\n' "${started:-}" | sed -n '/^-f$/{n;p;q}; s/^-f\(..*\)/\1/p' | head -n 1)
server=$(printf '%s\n' "${started:-}" | sed -n '/^--conf-server$/{n;p;q}; s/^--conf-server=//p' | head -n 1)
for path in "$given" "${daemon%/*/*}/etc/slurm.conf" "${daemon%/*/*}/etc/slurm/slurm.conf" /etc/slurm/slurm.conf \
  /etc/slurm-llnl/slurm.conf /usr/local/etc/slurm.conf; do
  [ -z "$server" ] && [ -n "$path" ] && [ -f "$path" ] || continue
  printf 'source\t%s (%s)\n' "$path" "$(timeout 5 stat -f -L -c %T -- "$path" || echo 'no answer')"; found=y; break
done
if [ -n "${found:-}" ]; then :
elif [ -n "$pid" ]; then printf 'source\t%s\n' "configless${server:+, from $server}"
else printf 'source\t%s\n' 'none, and slurmd does not run'; fi
awk '$3 ~ /^(nfs4?|lustre|beegfs|gpfs|ceph|fuse\.(ceph|glusterfs|sshfs)|glusterfs|cifs|smb3|9p|panfs|wekafs)$/ {
  print "mount\t" $2 " " $3 " " $1 }' /proc/mounts
echo end
