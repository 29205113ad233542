"""Complaints of a real slurmctld and slurmd about an inventory's files: each is a fault that check has missed."""

import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fuzz
import fuzz_cases
import fuzz_slurm

from gpupool.cluster.load import examine
from gpupool.cluster.model import Cluster
from gpupool.compile import files_for
from gpupool.compile.slurm.accounting import entities
from gpupool.compile.system.devices import stand_in_files
from gpupool.operations import trial
from gpupool.rehearsal.twin import container, image
from gpupool.rehearsal.twin.differences import applied
from gpupool.rehearsal.twin.differences.table import Place, differences, place_of
from gpupool.rehearsal.twin.shell import Shell
from gpupool.shell import values
from gpupool.slurm.releases import DEFAULT, TESTED, Tested

SLURM = "/etc/slurm/"
#: Messages that any files cause on a machine that is not a node of the cluster.
_OF_THE_PLACE = re.compile(
    r"Job accounting information gathered, but not stored|accounting information you have asked for it not to be stored"
    r"|can only be used with SlurmDBD|default partition not set"
    r"|No such file or directory|backup (\w+ )?state save file|High latency|MessageTimeout"
    r"|only compatible with jobacct_gather/linux"  # a twin gathers no accounting
    r"|mpi/pmix"  # 22.05 tries all MPI plugins, and the container has no PMIx
    r"|HealthCheckTimeout 0 invalid"  # 26.05 takes its default of 60 s instead
)
_BEGIN = """chmod 755 /var/spool/slurmd; mkdir -p /run/munge /var/log/munge /var/lib/munge /etc/munge
head -c 1024 /dev/urandom > /etc/munge/munge.key; chmod 400 /etc/munge/munge.key; chmod 711 /run/munge
chown munge:munge /etc/munge/munge.key /run/munge /var/log/munge /var/lib/munge
setsid runuser -u munge -- /usr/sbin/munged </dev/null >/dev/null 2>&1
"""
_SCRIPT = (Path(__file__).parent / "fuzz_taken.sh").read_text()


class Slurm:
    """A container with Slurm's programs, and no cluster."""

    def __init__(self, name: str, release: Tested) -> None:
        """Set the name of the container, and the release of its Slurm."""
        self.shell = Shell(name)
        script = trial.check(release, f"{SLURM}slurm.conf")[2]
        self._run(_BEGIN + f"cat > /tmp/trial.sh <<'END_OF_TRIAL'\n{script}\nEND_OF_TRIAL")

    def complaints(self, cluster: Cluster) -> list[str]:
        """Return the complaints of slurmctld and slurmd about a cluster's files."""
        files = {
            file.path.removeprefix(SLURM): file.text
            for file in files_for(cluster, cluster.controllers[0])
            if file.path.startswith(SLURM) and "/" not in file.path.removeprefix(SLURM)
        }
        # slurmd in a container has no GPUs to detect, no control groups, and few CPUs
        table = differences(place_of(cluster, cluster.slurm.version))
        of_slurmd = applied(
            {f"{SLURM}{name}": files[name] for name in ("slurm.conf", "gres.conf", "cgroup.conf")}, table
        )
        texts = {f"{name}.new": text for name, text in files.items()}
        texts |= {path.replace(SLURM, "of-slurmd/"): text for path, text in of_slurmd.items()}
        kinds = {
            (node.devices, str(node.hardware), tuple(node.gres.items())): node.slurm_name
            for node in cluster.having("compute")
        }
        devices = stand_in_files([device for node in cluster.nodes.values() for device in node.devices])
        script = ["rm -rf /tmp/case; mkdir -p /tmp/case/of-slurmd; cd /tmp/case"]
        script += [f"cat > {name} <<'END_OF_FILE'\n{text}\nEND_OF_FILE" for name, text in texts.items()]
        given = values(nodes=" ".join(kinds.values()), devices=" ".join(devices))
        said = self._run("\n".join([*script, given + _SCRIPT]))
        strange = [f"sacctmgr: {tres} is no TRES of the cluster" for tres in _strange(cluster, files["slurm.conf"])]
        # the trial runs no program of ours, so its slurm.conf has none of them
        without = "NULL SuspendProgram" if "\nSuspendProgram=" in files["slurm.conf"] else "\n"
        lines = [line for line in said.splitlines() if without not in line]
        return strange + [line for line in lines if not _OF_THE_PLACE.search(line)]

    def _run(self, script: str) -> str:
        done = self.shell.run(script, 300)
        if done.code:
            raise RuntimeError(f"exit {done.code}: {done.err}")
        return done.out


def _strange(cluster: Cluster, conf: str) -> list[str]:
    """Return the names in the limits of a cluster that slurmdbd would not know."""
    listed = re.search(r"^AccountingStorageTRES=(.*)$", conf, re.MULTILINE)
    known = {"cpu", "mem", "node", "billing", *(listed[1].split(",") if listed else ())}
    return sorted(set(_named(entities(cluster))) - known)


def _named(data: Any) -> Iterator[str]:
    """Yield each TRES with a limit in slurmdbd's entities."""
    for key, value in data.items() if isinstance(data, dict) else ():
        if "TRES" in key and isinstance(value, dict):
            yield from value
        else:
            yield from _named(value)


@contextmanager
def slurm(version: Tested = DEFAULT) -> Iterator[Slurm]:
    """Start the container, and remove it at the end."""
    place = Place("ctl", {}, version)
    rights = ("NET_ADMIN", "SYS_ADMIN")  # the trial creates a network namespace
    tag = image.ensure(version, print)
    name = container.run(tag, place, "fuzz", state="/var/spool/slurmctld", keep=False, rights=rights)
    try:
        yield Slurm(name, version)
    finally:
        container.remove(name)


def made(seed: int, number: int, folder: Path, version: Tested = DEFAULT) -> None:
    """Write the inventory of a number: a random one, or for the default release sometimes a changed one of gpupool."""
    if number % 5 == 0 and version == DEFAULT:
        fuzz.case(seed, number, folder)
    else:
        fuzz_slurm.case(seed, number, folder, version)


def clusters(seed: int, version: Tested = DEFAULT) -> Iterator[tuple[int, Cluster]]:
    """Yield every cluster whose inventory check accepts, with its number."""
    number = 0
    while True:
        with tempfile.TemporaryDirectory() as name:
            made(seed, number, Path(name), version)
            if cluster := examine(Path(name)).cluster:
                yield number, cluster
        number += 1


def main(most: int, seed: int, version: Tested = DEFAULT) -> int:
    """Try `most` inventories; return how many had complaints."""
    failed = 0
    with slurm(version) as here:
        for tried, (number, cluster) in zip(range(1, most + 1), clusters(seed, version), strict=False):
            if said := here.complaints(cluster):
                failed += 1
                kept = fuzz_cases.KEPT / f"slurm-{version}-{seed}-{number}"
                kept.mkdir(parents=True, exist_ok=True)
                made(seed, number, kept, version)
                print(f"{kept.relative_to(fuzz_cases.ROOT)}: {said[0]}", flush=True)
            if tried % 50 == 0 or tried == most:
                print(f"{tried} tried, {failed} failed", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(1 if main(*fuzz.asked(500, TESTED)) else 0)
