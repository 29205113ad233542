"""What runs in a twin's container until it stands, as shell text: files, people and devices, then the daemons."""

import shlex
from collections.abc import Iterator, Mapping

from gpupool.cluster.model import Cluster
from gpupool.rehearsal.differences_table import Place
from gpupool.system.devices import MAJOR
from gpupool.system.people import groups_for

# Debian's, where a file must not be root's
_OWNED = {"/etc/slurm/slurmdbd.conf": ("slurm:slurm", "600")}
# glibc resolves no name where all addresses are 127.0.0.1; this one is nobody's (RFC 5737)
_SOME_ADDRESS = "192.0.2.1"


def tree(cluster: Cluster, files: Mapping[str, str], place: Place) -> str:
    """Return the text that makes a Debian the cluster's machine: its files, addresses, people and devices."""
    return "\n".join(["set -eu", *_files(files), *_addresses(cluster, place), *_people(cluster), *_devices(cluster)])


def database(state: str) -> str:
    """Return the script that starts munge, MariaDB and slurmdbd, until slurmdbd answers; `state` is slurmctld's."""
    return _DATABASE.replace("@STATE", shlex.quote(state))


def service(unit: str) -> str:
    """Return the script that starts the program of a systemd unit, as its user, with its environment and our logs."""
    said = dict(line.split("=", 1) for line in unit.splitlines() if "=" in line and not line.startswith("#"))
    command = f"runuser -u {said['User']} -- env {said.get('Environment', '')} {said['ExecStart']}"
    return f"setsid {command} </dev/null >/var/log/arbiter.log 2>&1 &\n"


def daemons(place: Place) -> str:
    """Return the text that starts slurmctld and every slurmd, and ends when slurmctld answers."""
    return _DAEMONS.replace("@NODES", " ".join(map(shlex.quote, place.ports)))


def _files(files: Mapping[str, str]) -> Iterator[str]:
    for folder in sorted({path.rpartition("/")[0] for path in files}):
        yield f"mkdir -p {shlex.quote(folder)}"
    for path, text in files.items():
        yield f"printf %s {shlex.quote(text)} > {shlex.quote(path)}"
        if path in _OWNED:
            owner, mode = _OWNED[path]
            yield f"chown {owner} {path}; chmod {mode} {path}"


def _addresses(cluster: Cluster, place: Place) -> Iterator[str]:
    known = [node for node in cluster.nodes.values() if node.address]
    names = [f"{node.address} {node.fqdn} {node.name}" for node in known]
    if not cluster.controllers[0].address:
        names.append(f"{_SOME_ADDRESS} {place.host}")
    addresses = [_SOME_ADDRESS, *(node.address for node in known)]
    yield f"printf '%s\\n' {shlex.join(names)} >> /etc/hosts"
    yield "ip -batch - <<EOF\n" + "".join(f"addr add {it}/32 dev lo\n" for it in addresses) + "EOF"


def _people(cluster: Cluster) -> Iterator[str]:
    groups = groups_for(cluster)
    users = [
        f"{user.name}:x:{user.uid}:{user.gid or groups['people']}::{user.home}:{user.shell}"
        for user in cluster.users.values()
    ]
    yield "cat >> /etc/group <<'EOF'\n" + "".join(f"{name}:x:{gid}:\n" for name, gid in groups.items()) + "EOF"
    yield "cat >> /etc/passwd <<'EOF'\n" + "".join(f"{line}\n" for line in users) + "EOF"
    homes = "".join(
        f"{user.uid} {user.gid or groups['people']} {user.home}\n" for user in cluster.users.values() if user.home
    )
    yield f"python3 -c {shlex.quote(_HOMES)} <<'EOF'\n{homes}EOF"


_HOMES = """
import os, sys
for line in sys.stdin:
    uid, gid, home = line.rstrip("\\n").split(" ", 2)
    os.makedirs(home, exist_ok=True)
    os.chown(home, int(uid), int(gid))
"""


def _devices(cluster: Cluster) -> Iterator[str]:
    most = max((node.gpu_count for node in cluster.nodes.values()), default=0)
    for minor in range(most):
        yield f"mknod -m 666 /dev/nvidia{minor} c {MAJOR} {minor}"


# A daemon that keeps our standard output would keep docker from coming back.
_DATABASE = """
set -eu
fail() { echo "$*" >&2; exit 1; }
# what never starts is told after so many tenths of a second
patiently() { n=0; until "$@" >/dev/null 2>&1; do n=$((n+1)); [ $n -lt 1200 ] || return 1; sleep 0.1; done; }
mkdir -p /etc/munge /run/munge /var/log/munge /var/lib/munge /var/spool/slurmd /var/log/slurm
mkdir -p @STATE /run/mysqld /run/mariadbd
head -c 1024 /dev/urandom > /etc/munge/munge.key
chmod 400 /etc/munge/munge.key; chmod 711 /run/munge
chown munge:munge /etc/munge/munge.key /run/munge /var/log/munge /var/lib/munge
chown slurm:slurm /var/log/slurm @STATE; chown mysql:mysql /run/mysqld /run/mariadbd
setsid runuser -u munge -- /usr/sbin/munged --num-threads 8 </dev/null >/dev/null 2>&1 || fail "munged did not start"
setsid runuser -u mysql -- mariadbd </dev/null >/var/log/mariadbd.log 2>&1 &
sql="create database if not exists slurm_acct_db;
  create user if not exists slurm@localhost identified via unix_socket;
  grant all on slurm_acct_db.* to slurm@localhost"
patiently mariadb -e "$sql" || fail "MariaDB does not answer: $(tail -n 1 /var/log/mariadbd.log)"
slurmdbd </dev/null >/dev/null 2>&1 || fail "slurmdbd did not start: $(tail -n 1 /var/log/slurm/slurmdbd.log)"
asked() {
  said=$(timeout 30 sacctmgr -nP show cluster 2>&1) && return
  # a slurm.conf that is not one will not become one
  case $said in *fatal:*) fail "slurm.conf: $(echo "$said" | grep -m 1 error)" ;; esac; return 1
}
n=0
until asked; do
  n=$((n+1)); [ $n -lt 800 ] || fail "slurmdbd does not answer: $said"; sleep 0.1
done
"""

_DAEMONS = """
set -eu
for node in @NODES; do mkdir -p /var/spool/slurmd/$node; done
slurmctld </dev/null >/var/log/slurm/slurmctld.out 2>&1 || {
  cat /var/log/slurm/slurmctld.out; grep fatal /var/log/slurm/slurmctld.log | tail -n 1; exit 1; } >&2
# -b: this container is younger than the machine under it, and Slurm looks at the machine's boot
for node in @NODES; do slurmd -b -N $node </dev/null >/var/log/slurm/slurmd-$node.out 2>&1 & done
wait
n=0
until timeout 30 scontrol ping 2>/dev/null | grep -q UP; do
  n=$((n+1)); [ $n -lt 400 ] || { echo "slurmctld does not answer: $(grep -E 'error|fatal' \\
    /var/log/slurm/slurmctld.log | tail -n 1)" >&2; exit 1; }
  sleep 0.1
done
"""
