# Has a real slurmctld and slurmd take the files that lie in /tmp/case with .new after their names, slurmd's own gres.conf
# in /tmp/case/of-slurmd, and prints what they have against them, a line each. $nodes: one of each kind, $devices: files
# that stand in for GPUs.
# shellcheck shell=sh disable=SC2154 # both are set before it

cd /tmp/case || exit 1
export GPUPOOL_NEW=.new
for device in $devices; do
  [ -e "$device" ] || { mkdir -p "${device%/*}"; mknod -m 666 "$device" c 195 "$((minor = minor + 1))"; }
done
# slurmctld's messages go to the trial's own log, which the trial removes. The copy is written first: the trial kills all
# processes as soon as its log has the line that it waits for.
mkdir -p /tmp/bin
cat > /tmp/bin/slurmctld <<'END'
#!/bin/bash
exec /usr/sbin/slurmctld "$@" > >(while IFS= read -r line; do
  printf '%s\n' "$line" >> /tmp/slurmctld.log; printf '%s\n' "$line"
done) 2>&1
END
chmod 755 /tmp /tmp/bin /tmp/bin/slurmctld
: > /tmp/slurmctld.log; chmod 666 /tmp/slurmctld.log
PATH=/tmp/bin:$PATH sh /tmp/trial.sh /tmp/case/slurm.conf 2> /tmp/trial.said || sed 's/^/trial: /' /tmp/trial.said
grep -q 'Running as primary controller' /tmp/slurmctld.log || echo "slurmctld: did not start"
grep -E ' (error|fatal): ' /tmp/slurmctld.log | sed 's/^/slurmctld: /'
for file in *.new; do cp "$file" "of-slurmd/${file%.new}.kept" && mv -n "of-slurmd/${file%.new}.kept" "of-slurmd/${file%.new}"; done
rm -f of-slurmd/*.kept
for node in $nodes; do
  mkdir -p "/var/spool/slurmd/$node"
  slurmd -f /tmp/case/of-slurmd/slurm.conf -N "$node" -G > /tmp/slurmd.log 2>&1 || echo "slurmd $node: exit $?"
  grep -E '(error|fatal): ' /tmp/slurmd.log | sed "s/^/slurmd $node: /"
done
true
