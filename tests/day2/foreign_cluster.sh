#!/bin/bash
# Builds a small Slurm cluster by hand, as a site without gpupool has it. $1 part: controller, login or compute; $2 the munge
# key in base64; $3 lines for /etc/hosts.
set -eu
password=of-the-site key=StoragePass at=/srv/slurm
printf '%s\n' "$3" >>/etc/hosts
base64 -d <<<"$2" >/etc/munge/munge.key
chown munge: /etc/munge/munge.key; chmod 0400 /etc/munge/munge.key
systemctl enable munge; systemctl restart munge
for user in ann:20001 bob:20002 cid:20003; do useradd -m -s /bin/bash -u "${user#*:}" "${user%:*}"; done
id slurm >/dev/null 2>&1 || useradd --system --no-create-home --uid 64030 slurm # SchedMD's packages do not create it
mkdir -p /etc/slurm $at/log $at/spool
chown slurm: $at $at/log
cat >/etc/slurm/slurm.conf <<CONF
# Slurm of the sea lab. Ask the admins before you change it!
ClusterName=sea
SlurmctldHost=ctl
SlurmUser=slurm
StateSaveLocation=$at/state
SlurmdSpoolDir=$at/spool
SlurmctldLogFile=$at/log/ctld.log
SlurmdLogFile=$at/log/d.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=200
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=ctl
AccountingStorageEnforce=associations,limits
GresTypes=gpu
AccountingStorageTRES=gres/gpu
Epilog=/etc/slurm/epilog.sh
KillWait=45   # the editors ask for it
ReturnToService=2
include /etc/slurm/nodes.conf
CONF
cat >/etc/slurm/nodes.conf <<'CONF'
NodeName=g[1-2] CPUs=16 Sockets=1 CoresPerSocket=16 ThreadsPerCore=1 RealMemory=15000 Gres=gpu:a40:4
PartitionName=all Nodes=g[1-2] Default=YES MaxTime=1-0 QOS=small
PartitionName=deep Nodes=g2 MaxTime=2-0 QOS=big PriorityTier=5
CONF
echo 'NodeName=g[1-2] Name=gpu Type=a40 File=/dev/nvidia[0-3]' >/etc/slurm/gres.conf
echo CgroupPlugin=disabled >/etc/slurm/cgroup.conf
printf '#!/bin/sh\necho "$SLURM_JOB_ID" >>%s/log/epilog\n' $at >/etc/slurm/epilog.sh
chmod 0755 /etc/slurm/epilog.sh
chmod 0664 /etc/slurm/slurm.conf
touch -d '2024-05-06 07:08:09.123456789' /etc/slurm/*
case $1 in
login) exit ;;
compute) systemctl enable --now slurmd; exit ;;
esac
install -d -o slurm $at/state
systemctl enable --now mariadb
mariadb -e "create database if not exists slurm_acct_db; create user slurm@localhost identified via mysql_native_password using password('$password');
  grant all on slurm_acct_db.* to slurm@localhost"
cat >/etc/slurm/slurmdbd.conf <<CONF
DbdHost=ctl
SlurmUser=slurm
StorageType=accounting_storage/mysql
StorageLoc=slurm_acct_db
StorageUser=slurm
$key=$password
LogFile=$at/log/dbd.log
CONF
chown slurm: /etc/slurm/slurmdbd.conf; chmod 0600 /etc/slurm/slurmdbd.conf
systemctl enable --now slurmdbd
for _ in {1..60}; do sacctmgr -nP show cluster >/dev/null 2>&1 && break; sleep 1; done
sacctmgr -i add cluster sea
sacctmgr -i add qos small set MaxJobsPU=50 Priority=5
sacctmgr -i add qos big
sacctmgr -i add account sea-life description=all fairshare=7
sacctmgr -i add account fish parent=sea-life description=fish fairshare=3
sacctmgr -i add account crab parent=sea-life description=crab
sacctmgr -i add user ann account=fish
sacctmgr -i add user bob account=crab fairshare=2
sacctmgr -i add user cid account=fish partition=deep
systemctl enable --now slurmctld
for _ in {1..60}; do sacctmgr -nP show tres | grep -q gres && break; sleep 1; done
sacctmgr -i modify qos big set MaxTRESPU=gres/gpu=3
