#!/bin/bash
# Builds a small Slurm cluster by hand, as a site without gpupool has it. $1 part: controller or compute; $2 the munge key
# in base64; $3 lines for /etc/hosts.
set -eu
password=of-the-site key=StoragePass
printf '%s\n' "$3" >>/etc/hosts
base64 -d <<<"$2" >/etc/munge/munge.key
chown munge: /etc/munge/munge.key; chmod 0400 /etc/munge/munge.key
systemctl restart munge
mkdir -p /etc/slurm /var/log/slurm /var/spool/slurmctld
chown slurm: /var/log/slurm /var/spool/slurmctld
cat >/etc/slurm/slurm.conf <<'CONF'
# Slurm of the sea lab. Ask the admins before you change it!
ClusterName=sea
SlurmctldHost=ctl
SlurmUser=slurm
StateSaveLocation=/var/spool/slurmctld
SlurmctldLogFile=/var/log/slurm/ctld.log
SlurmdLogFile=/var/log/slurm/d.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=ctl
AccountingStorageEnforce=associations,limits
KillWait=45   # the editors ask for it
ReturnToService=2
include /etc/slurm/nodes.conf
CONF
cat >/etc/slurm/nodes.conf <<'CONF'
NodeName=n1 CPUs=2 Sockets=2 CoresPerSocket=1 ThreadsPerCore=1 RealMemory=800
PartitionName=all Nodes=n1 Default=YES MaxTime=1-0
CONF
echo CgroupPlugin=disabled >/etc/slurm/cgroup.conf
chmod 0664 /etc/slurm/slurm.conf
touch -d '2024-05-06 07:08:09.123456789' /etc/slurm/slurm.conf /etc/slurm/nodes.conf
if [ "$1" = compute ]; then systemctl enable --now slurmd; exit; fi
systemctl start mariadb
mariadb -e "create database if not exists slurm_acct_db; create user slurm@localhost identified via mysql_native_password using password('$password');
  grant all on slurm_acct_db.* to slurm@localhost"
cat >/etc/slurm/slurmdbd.conf <<CONF
DbdHost=ctl
SlurmUser=slurm
StorageType=accounting_storage/mysql
StorageLoc=slurm_acct_db
StorageUser=slurm
$key=$password
LogFile=/var/log/slurm/dbd.log
CONF
chown slurm: /etc/slurm/slurmdbd.conf; chmod 0600 /etc/slurm/slurmdbd.conf
systemctl enable --now slurmdbd
for _ in {1..60}; do sacctmgr -nP show cluster >/dev/null 2>&1 && break; sleep 1; done
sacctmgr -i add cluster sea
sacctmgr -i add account fish description=fish fairshare=7
sacctmgr -i add user root account=fish
systemctl enable --now slurmctld
