#!/bin/sh
# Prints "release" and the version of the Slurm in the folder $1, if it is there; "file" if the slurm.conf $2 exists; and
# "reads" and the path from which slurmctld has read its slurm.conf, if slurmctld answers within $3 s and that is another.
# The values follow a tab.

# a command, unlike a daemon, only shows its version if it finds a slurm.conf
for program in sbin/slurmctld sbin/slurmdbd sbin/slurmd bin/scontrol; do
  [ -x "$1/$program" ] || continue
  printf 'release\t%s\n' "$("$1/$program" -V 2>/dev/null | sed 's/.* //')"
  break
done
[ ! -f "$2" ] || echo file
reads=$(timeout "$3" "$1/bin/scontrol" show config 2>/dev/null | sed -n 's/^SLURM_CONF *= *//p')
[ -z "$reads" ] || [ "$reads" -ef "$2" ] || printf 'reads\t%s\n' "$reads"
