"""The start of a twin's container as shell text: files, users and devices, then the daemons."""

import shlex
from collections.abc import Iterator, Mapping

from gpupool.cluster.model import Cluster
from gpupool.compile.system.devices import MAJOR, stand_in_files
from gpupool.compile.system.people import groups_for
from gpupool.rehearsal.twin.differences.table import Place
from gpupool.shell import shell_file, values

# owner and mode of files that root must not own, as on Debian
_OWNED = {"/etc/slurm/slurmdbd.conf": ("slurm:slurm", "600")}
# glibc resolves no name if 127.0.0.1 is the only address; this address is for documentation (RFC 5737)
_SOME_ADDRESS = "192.0.2.1"


def tree(cluster: Cluster, files: Mapping[str, str]) -> str:
    """Return the script that prepares plain Debian for the cluster: its files, addresses, users and devices."""
    return "\n".join(["set -eu", *_files(files), *_addresses(cluster), *_people(cluster), *_devices(cluster)])


def database(state: str) -> str:
    """Return the script that starts munge and MariaDB, and waits for MariaDB; `state` is slurmctld's directory."""
    return values(state=state) + _DATABASE


def slurmdbd() -> str:
    """Return the script that starts slurmdbd and waits until it answers."""
    return _SLURMDBD


def service(unit: str) -> str:
    """Return the script that starts a systemd unit's program with the unit's user and environment, and a log file."""
    settings = dict(line.split("=", 1) for line in unit.splitlines() if "=" in line and not line.startswith("#"))
    folder = f"/run/{settings['RuntimeDirectory']}"
    command = f"runuser -u {settings['User']} -- env {settings.get('Environment', '')} {settings['ExecStart']}"
    return f"install -d -o {settings['User']} {folder}\nsetsid {command} </dev/null >/var/log/arbiter.log 2>&1 &\n"


def daemons(place: Place) -> str:
    """Return the script that starts slurmctld and every slurmd, and waits until slurmctld answers."""
    return values(nodes=" ".join(place.ports)) + _DAEMONS


def controller() -> str:
    """Return the script that starts slurmctld alone, and waits until it answers."""
    return values(nodes="") + _DAEMONS


def _files(files: Mapping[str, str]) -> Iterator[str]:
    for folder in sorted({path.rpartition("/")[0] for path in files}):
        yield f"mkdir -p {shlex.quote(folder)}"
    for path, text in files.items():
        yield f"printf %s {shlex.quote(text)} > {shlex.quote(path)}"
        if path in _OWNED:
            owner, mode = _OWNED[path]
            yield f"chown {owner} {path}; chmod {mode} {path}"


def _addresses(cluster: Cluster) -> Iterator[str]:
    nodes = cluster.nodes.values()
    names = [f"{node.address or _SOME_ADDRESS} {node.dns_name or ''} {node.fqdn} {node.name}" for node in nodes]
    names += [f"{address} {' '.join(each)}" for node in nodes for address, each in node.further_names.items()]
    addresses = dict.fromkeys([_SOME_ADDRESS, *(address for node in nodes for address in node.all_addresses)])
    yield f"printf '%s\\n' {shlex.join(names)} >> /etc/hosts"
    yield "ip -batch - <<EOF\n" + "".join(f"addr add {address}/32 dev lo\n" for address in addresses) + "EOF"


def _people(cluster: Cluster) -> Iterator[str]:
    groups = groups_for(cluster)
    users = [
        f"{user.name}:x:{user.uid}:{user.gid or groups['people']}::{user.home}:{user.entry.shell}"
        for user in cluster.users.values()
    ]
    members = {
        group: ",".join(user.name for user in cluster.users.values() if group in cluster.groups_of(user)[1:])
        for group in groups
    }
    lines = [f"{group}:x:{gid}:{members[group]}" for group, gid in groups.items()]
    yield "cat >> /etc/group <<'EOF'\n" + "".join(f"{line}\n" for line in lines) + "EOF"
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
    files = stand_in_files([device for node in cluster.nodes.values() for device in node.devices])
    for folder in sorted({path.rpartition("/")[0] for path in files} - {"/dev"}):
        yield f"mkdir -p {folder}"
    for path, minor in files.items():
        yield f"mknod -m 666 {path} c {MAJOR} {minor}"


_DATABASE = shell_file(__package__, "boot_database.sh")

_SLURMDBD = shell_file(__package__, "boot_slurmdbd.sh")

_DAEMONS = shell_file(__package__, "boot_daemons.sh")
