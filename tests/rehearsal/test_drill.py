"""Backups of a twin restored on another: with the next Slurm that can read them, and refused if they are broken."""

import json
import shlex
import subprocess
from pathlib import Path

import pytest
from inventories import SMALL, changed

from gpupool.cluster.model import Cluster
from gpupool.compile.system.backup import SETTINGS
from gpupool.errors import TwinError
from gpupool.rehearsal.drill import restored
from gpupool.rehearsal.twin import Ask, Twin, boot
from gpupool.rehearsal.twin.compiled import of_version

TO = "/srv/backup/slurm"
STATE = "/var/spool/slurmctld"
SACCT = "TZ=UTC sacct -anPD -S now-2days -E now -s completed,failed -o JobIDRaw,User,Account,State,Submit,End,AllocTRES"
QUEUE = "squeue -h -a -o '%i|%u|%a|%T'"
ACCOUNTS = "sacctmgr -nP show assoc format=Account,User,GrpTRES,QOS"
MAKE = f"mkdir -m 700 -p {TO}; PYTHONPATH=/usr/local/lib/gpupool python3 -P -B -m backup make {SETTINGS} 2>&1"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    backup = f"slurm: {{backup: {{to: {TO}}}}}\nscheduler:"
    return changed(SMALL, tmp_path_factory.mktemp("drill"), ("scheduler:", backup))


@pytest.fixture(scope="module")
def outputs() -> dict[str, str]:
    """The output of the twin before it was copied, by command."""
    return {}


@pytest.fixture(scope="module")
def copies(cluster: Cluster, outputs: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Backups by the nodes' own program of a Slurm 24.11 with one ended and one pending job."""
    folder = tmp_path_factory.mktemp("copies")
    with Twin.start(cluster) as twin:
        options = ("--partition=all", "--gpus=1", "--output=/dev/null")
        first = twin.submit([Ask("ann", options, "#!/bin/sh\ntrue\n")])[0]
        twin.submit([Ask("ann", (*options, "--hold"))])
        done = f"sacct -nXj {first} -o State | grep -q COMPLETED"
        twin.do(f"n=0; until {done}; do n=$((n+1)); [ $n -lt 600 ] || exit 1; sleep 0.5; done", "the first job")
        outputs |= {command: twin.do(command, command).out for command in (SACCT, QUEUE, ACCOUNTS)}
        # slurmctld writes this file only every five minutes and at its end, and 26.05 does not start without it
        twin.do(f"scontrol shutdown slurmctld; until [ -e {STATE}/assoc_usage ]; do sleep 0.2; done", "slurmctld's end")
        twin.do(MAKE, "backup")
        listed = json.loads(twin.do(f"PYTHONPATH=/usr/local/lib/gpupool python3 -m backup list {SETTINGS}", "list").out)
        found = {}
        for kind, backups in listed.items():
            path = backups["backups"][0]["path"]
            found[kind] = folder / Path(path).name
            with found[kind].open("wb") as file:
                subprocess.run(["docker", "exec", twin.name, "cat", path], stdout=file, check=True)
    return found


def test_the_next_compatible_slurm_reads_database_and_state(
    cluster: Cluster, copies: dict[str, Path], outputs: dict[str, str]
) -> None:
    with restored(of_version(cluster, "26.05"), copies["database"], copies["state"], print) as twin:
        assert "26.05" in twin.do("slurmdbd -V", "slurmdbd").out
        assert twin.do(SACCT, "sacct").out == outputs[SACCT]
        assert twin.do(ACCOUNTS, "accounts").out == outputs[ACCOUNTS]
        twin.do(boot.controller(), "slurmctld")
        assert twin.do(QUEUE, "squeue").out == outputs[QUEUE] != ""


def test_a_truncated_backup_is_refused(cluster: Cluster, copies: dict[str, Path], tmp_path: Path) -> None:
    half = tmp_path / "half.sql.gz"
    half.write_bytes(copies["database"].read_bytes()[:4000])
    with (
        pytest.raises(TwinError, match=r"half.sql.gz cannot be restored"),
        restored(cluster, half, None, print),
    ):
        pytest.fail(f"a half of {shlex.quote(str(half))} was loaded")
