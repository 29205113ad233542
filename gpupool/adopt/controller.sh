#!/bin/sh
# Prints what a running controller knows of its configuration. It only reads.
# Arguments: absolute paths of further files to print, or patterns of such paths, and nothing else then.
# Each line has tabs: conf and the path of slurm.conf; release and its version; owner and the package of slurmctld (or
# none); daemon and the path of slurmctld; cut and a path that is too long; gone and a path that is no file; file, a path
# and the text in base64, without passwords; accounts and the dump of sacctmgr in base64; silent and a node that does not
# respond; reservations and what scontrol shows of them in base64; end.

most=5000000 # bytes of a file
# a password is a value of a key that ends with Pass or Password; a path is that of a socket
shown() { LC_ALL=C sed -E 's,([A-Za-z]*[Pp][Aa][Ss][Ss]([Ww][Oo][Rr][Dd])?)[[:space:]]*=[[:space:]]*("[^"/][^"]*"|[^[:space:]"/][^[:space:]]*),,g' -- "$1" |
  base64 | tr -d '\n'; }
print() {
  [ -f "$1" ] && [ -r "$1" ] || { printf 'gone\t%s\n' "$1"; return; }
  [ "$(stat -L -c %s -- "$1")" -le $most ] || { printf 'cut\t%s\n' "$1"; return; }
  printf 'file\t%s\t%s\n' "$1" "$(shown "$1")"
}
if [ $# -gt 0 ]; then
  IFS= # a pattern is a word, with its blanks
  for path; do
    case $path in
    *[*?[]*) for found in $path; do [ ! -f "$found" ] || print "$found"; done ;;
    *) print "$path" ;;
    esac
  done
  echo end; exit
fi

# Slurm's commands are beside its daemon if they are not in PATH
pid=$(pgrep -o -x slurmctld)
daemon=$(readlink "/proc/$pid/exe" 2>/dev/null || PATH=$PATH:/opt/slurm/sbin:/usr/local/sbin command -v slurmctld)
[ -z "$daemon" ] || PATH=$PATH:${daemon%/*}:${daemon%/*/*}/bin
running() { # the value of a variable of the daemon's environment, or of its option -f
  if [ -n "$pid" ]; then
    tr '\0' '\n' <"/proc/$pid/cmdline" | sed -n '/^-f$/{n;p;q}; s/^-f\(..*\)/\1/p' | head -n 1
    tr '\0' '\n' <"/proc/$pid/environ" | sed -n 's/^SLURM_CONF=//p' | head -n 1
  fi
}
own=$(running | head -n 1)
[ -z "$own" ] || export SLURM_CONF="$own" # Slurm's commands may have been built for another folder
config=$(timeout 20 scontrol show config 2>/dev/null)
value() { printf '%s\n' "$config" | sed -n "s/^$1 *= *//p"; }
conf=$({ [ -z "$own" ] || echo "$own"; value SLURM_CONF
  for path in "${daemon%/*/*}/etc/slurm.conf" "${daemon%/*/*}/etc/slurm/slurm.conf" /etc/slurm/slurm.conf \
    /etc/slurm-llnl/slurm.conf /usr/local/etc/slurm.conf; do [ ! -f "$path" ] || echo "$path"; done; } | head -n 1)
printf 'conf\t%s\n' "$conf"
[ -z "$daemon" ] || {
  printf 'release\t%s\n' "$("$daemon" -V 2>/dev/null | sed 's/.* //')"
  owner=$(dpkg -S "$daemon" 2>/dev/null | sed 's/:.*//;q')
  [ -n "$owner" ] || owner=$(rpm -qf "$daemon" 2>/dev/null) || owner=
  printf 'owner\t%s\n' "${owner:-none}"
  printf 'daemon\t%s\n' "$daemon"
}
for name in slurm.conf gres.conf cgroup.conf topology.conf topology.yaml plugstack.conf job_container.conf \
  acct_gather.conf helpers.conf node_features.conf oci.conf mpi.conf burst_buffer.conf namespace.yaml slurmdbd.conf \
  job_submit.lua cli_filter.lua; do
  [ ! -f "${conf%/*}/$name" ] || print "${conf%/*}/$name"
done
[ -f "${conf%/*}/slurm.conf" ] || [ -z "$conf" ] || print "$conf"
cluster=$(value ClusterName)
if [ -n "$cluster" ]; then
  dump=$(timeout 60 sacctmgr -i dump "$cluster" file=/dev/stdout 2>/dev/null) && printf 'accounts\t%s\n' "$(printf '%s\n' "$dump" | base64 | tr -d '\n')"
  timeout 20 sinfo -h -N -d -o %N 2>/dev/null | sort -u | sed 's/^/silent\t/'
  held=$(timeout 20 scontrol -o show reservation 2>/dev/null) &&
    printf 'reservations\t%s\n' "$(printf '%s\n' "$held" | base64 | tr -d '\n')"
fi
echo end
