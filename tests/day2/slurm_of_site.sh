#!/bin/sh
# Makes a site's own cluster of a container with Debian's packages of Slurm: all of Slurm moves to /opt/slurm, no package
# of Slurm is left, and Slurm starts by the site's own units. $1 the name of the node, $2 its address.

set -eu
name=$1 address=$2 at=/opt/slurm
packages=$(dpkg-query -W -f '${Package}\n' | grep -E '^(lib(pam-)?slurm|slurm)')
mkdir -p $at/bin $at/sbin $at/lib $at/etc
for package in $packages; do
  dpkg -L "$package" | while read -r path; do
    [ -f "$path" ] || continue
    case $path in
      /usr/bin/*) cp -P "$path" $at/bin/ ;;
      /usr/sbin/*) to=$at/sbin/${path##*/}; cp -P "$path" "${to%-wlm}" ;;
      /usr/lib/*/slurm-wlm/*.so*) cp -P "$path" $at/lib/ ;;
      /usr/lib/*/libslurm*.so*) cp -P "$path" $at/lib/ ;;
    esac
  done
done
# shellcheck disable=SC2086 # one word a package
dpkg --purge --force-depends $packages >/dev/null 2>&1
rm -rf /etc/slurm /usr/lib/*/slurm-wlm
echo $at/lib >/etc/ld.so.conf.d/slurm.conf
ldconfig
id slurm >/dev/null 2>&1 || useradd -r -M -s /usr/sbin/nologin slurm
id ann >/dev/null 2>&1 || useradd -m -u 20001 -s /bin/bash ann
install -d -o slurm -g slurm /var/spool/slurmctld /var/log/slurm
install -d /var/spool/slurmd
cat >$at/etc/slurm.conf <<EOF
# the site's own file
ClusterName=siteown
SlurmctldHost=$name($address)
SlurmUser=slurm
PluginDir=$at/lib
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStorageEnforce=associations
KillWait=30
SlurmdParameters=config_overrides
NodeName=$name NodeAddr=$address CPUs=2 RealMemory=1000
PartitionName=all Nodes=$name Default=YES MaxTime=2-0
EOF
echo CgroupPlugin=disabled >$at/etc/cgroup.conf
cat >$at/etc/slurmdbd.conf <<EOF
DbdHost=localhost
SlurmUser=slurm
PluginDir=$at/lib
LogFile=/var/log/slurm/slurmdbd.log
StorageType=accounting_storage/mysql
StorageUser=slurm
StorageLoc=site_accounting
EOF
chown slurm:slurm $at/etc/slurmdbd.conf
chmod 600 $at/etc/slurmdbd.conf
for daemon in slurmdbd slurmctld slurmd; do
  user=slurm type=notify options=--systemd
  case $daemon in
    slurmdbd) type=simple options=-D ;;
    slurmd) user=root options="--systemd -d $at/sbin/slurmstepd" ;;
  esac
  cat >/etc/systemd/system/$daemon.service <<EOF
[Unit]
After=munge.service mariadb.service
[Service]
Type=$type
User=$user
Environment=SLURM_CONF=$at/etc/slurm.conf
ExecStart=$at/sbin/$daemon $options
ExecReload=/bin/kill -HUP \$MAINPID
KillMode=process
Delegate=yes
[Install]
WantedBy=multi-user.target
EOF
done
[ -s /etc/munge/munge.key ] || { head -c 128 /dev/urandom >/etc/munge/munge.key; }
chown munge:munge /etc/munge/munge.key
chmod 400 /etc/munge/munge.key
systemctl daemon-reload
systemctl enable -q --now munge mariadb
mariadb -e "CREATE DATABASE site_accounting; CREATE USER slurm@localhost IDENTIFIED VIA unix_socket;
  GRANT ALL ON site_accounting.* TO slurm@localhost"
export SLURM_CONF=$at/etc/slurm.conf PATH="$at/bin:$at/sbin:$PATH"
wait_for() { for _ in $(seq 60); do timeout 3 "$@" >/dev/null 2>&1 && return; sleep 0.3; done; echo "no: $*" >&2; return 1; }
systemctl enable -q --now slurmdbd
wait_for sacctmgr -n show cluster
sacctmgr -iQ add cluster siteown >/dev/null || :
sacctmgr -iQ add account red >/dev/null
sacctmgr -iQ add user ann account=red >/dev/null
systemctl enable -q --now slurmctld slurmd
wait_for sh -c 'sinfo -h -o %T | grep -qx idle'
