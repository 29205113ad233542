"""A cluster that was built by hand: after adopt, apply and the way back it is as it was, with its job running."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pace import until

from gpupool.target import find_target
from tests.testbed.cluster import ROOT, Testbed, gpupool

BUILD = (Path(__file__).parent / "foreign_cluster.sh").read_text()
NODES = """\
schema: 1
cluster: {name: sea, domain: sea.example, network: 10.177.0.0/16}
nodes:
  - {name: ctl, roles: [controller, database, head], address: 10.177.0.10}
  - {name: n1, roles: [compute], hardware: plain, address: 10.177.0.11}
hardware: {plain: {cpus: 2, memory: 1G}}
accounts: [{name: crew, kind: group, gid: 5001}]
qos: {normal: {default: true}}
partitions: [{name: all, nodes: "@compute", max_time: 1d}]
scheduler: {default_partition: all, default_memory: {per_cpu: 100M}, max_memory: {per_cpu: 500M}}
access: {keys: homes}
testbed: {nodes: "ctl,n1"}
"""


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Testbed]:
    """Two nodes with a Slurm cluster that gpupool did not build."""
    inventory = tmp_path / "machines"
    inventory.mkdir()
    (inventory / "cluster.yml").write_text(NODES)
    done = gpupool("testbed", "up", inventory, "--yes")
    assert done.returncode == 0, done.stderr
    testbed = Testbed(inventory, find_target(inventory, "testbed"))
    key, hosts = base64.b64encode(os.urandom(1024)).decode(), "10.177.0.10 ctl\n10.177.0.11 n1"
    for node, part in (("ctl", "controller"), ("n1", "compute")):
        testbed.out(node, f"bash -s {part} {key} '{hosts}'", text=BUILD)
    assert testbed.target.testbed
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/config").write_text(Path(testbed.target.testbed.ssh_config).read_text())
    monkeypatch.setenv("HOME", str(tmp_path))
    yield testbed
    monkeypatch.undo()
    gpupool("testbed", "down", inventory)


def files(testbed: Testbed) -> list[str]:
    """Return path, kind, owner, mode, time, sum and target of everything in /etc; a directory's time is left out."""
    find = "find . -xdev ! -name ld.so.cache"
    text = testbed.out(
        "ctl",
        f"cd /etc; {{ {find} -type d -printf '%p %u:%g %m\\n'; {find} ! -type d -printf '%p %y %u:%g %m %T@ %l\\n'; "
        f"{find} -type f -exec sha256sum {{}} +; }} | sort",
    )
    return text.splitlines()


def units(testbed: Testbed) -> str:
    return testbed.out("ctl", "systemctl list-unit-files --no-legend; hostname; readlink /etc/localtime")


def test_an_adopted_cluster_is_as_before_and_its_job_runs(foreign: Testbed, tmp_path: Path) -> None:
    job = foreign.out("ctl", "cd /; sbatch --parsable -A fish --wrap 'sleep 3000' -o /dev/null")
    foreign.wait_for(job, "RUNNING")
    before = files(foreign), units(foreign)
    site = tmp_path / "site"
    on_node = foreign.out("n1", "find /etc /var/log/slurm /var/spool -printf '%p %s %T@\\n' | sort")
    done = gpupool("adopt", "--from", "root@ctl", site)
    assert done.returncode == 0, done.stdout + done.stderr
    assert files(foreign) == before[0]
    assert foreign.out("n1", "find /etc /var/log/slurm /var/spool -printf '%p %s %T@\\n' | sort") == on_node
    assert "asked  1 node: 1 answered" in done.stdout
    assert "slurm.conf: n1: /etc/slurm/slurm.conf (" in done.stdout
    document = json.loads(gpupool("adopt", "--from", "root@ctl", tmp_path / "again", "--json").stdout)
    assert (document["controller"]["login"], document["controller"]["package"]) == ("root@ctl", "slurmctld")
    ((name, why, source),) = ((node["node"], node["failure"], node["source"]) for node in document["nodes"])
    assert (name, why) == ("n1", None)
    assert source.startswith("/etc/slurm/slurm.conf (")

    # gpupool writes Slurm's files, and changes a share
    nodes = site / "nodes.yml"
    text = nodes.read_text().replace("database], managed: false", "database], address: 10.177.0.10")
    nodes.write_text(text)
    accounts = site / "slurm/accounting.cfg"
    assert "Fairshare=7" in accounts.read_text()
    accounts.write_text(accounts.read_text().replace("Fairshare=7", "Fairshare=9"))
    done = gpupool("apply", site, "--yes", "--on", "nodes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert files(foreign) != before[0]
    assert "fish||9" in shares(foreign)

    # kill -9 of the way back: with a restored file, and without an added one
    for reached in (
        "grep -q 'sea lab' /etc/slurm/slurm.conf",
        "! test -e /etc/slurm/gres.conf",
    ):
        process = subprocess.Popen(
            [sys.executable, "-m", "gpupool", "adopt", "--back", str(site), "--yes", "--on", "nodes"],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until(lambda: foreign.run("ctl", reached).returncode == 0, reached)  # noqa: B023
        process.kill()
        process.wait()
        foreign.wait_for(job, "RUNNING")

    done = gpupool("adopt", "--back", site, "--yes", "--on", "nodes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (files(foreign), units(foreign)) == before
    assert foreign.out("ctl", "scontrol show config | grep -c 'KillWait *= 45 sec'") == "1"
    foreign.wait_for(job, "RUNNING")

    # accounting: the dump from before the first change is there, with the command that loads it
    load = "sacctmgr -i load file=/var/lib/gpupool/accounting-before.cfg"
    assert load in done.stdout
    foreign.out("ctl", load)
    assert "fish||7" in shares(foreign)
    foreign.wait_for(job, "RUNNING")
    done = gpupool("adopt", "--back", site, "--yes", "--on", "nodes")
    assert (done.returncode, "Files of" in done.stdout) == (0, False)
    assert "1 node: as before gpupool (" in done.stdout


def shares(testbed: Testbed) -> str:
    return testbed.out("ctl", "sacctmgr -nP show assoc format=account,user,fairshare")
