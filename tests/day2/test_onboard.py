"""A machine joins a cluster with a running job, from bare Debian to its first job, and leaves it again."""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pace import start, until

from gpupool.cli.testbed import wanted
from gpupool.joining.host_key import fingerprint, scan
from gpupool.remote.lock import whoami
from gpupool.remote.nodes import Nodes
from gpupool.target import find_target
from gpupool.testbed import lifecycle
from gpupool.testbed.spec import Container
from tests.testbed.cluster import ROOT, Testbed, docker, gpupool, hang_up

NETWORK = "10.183.0.0/16"
CONTROLLER, NEW = "ctl", "gpu-2"
#: NEW is bare; the machines that join with it already have Debian's packages, whose installation takes most of the
#: time.
TOGETHER = (NEW, "gpu-3", "gpu-4")
ADDRESSES = {name: f"10.92.2.{name[-1]}" for name in TOGETHER}
KILLS = 2
SITE = """\
schema: 1
cluster: {name: join, domain: join.example, network: 10.92.0.0/16, totals: {gpus: 2, cpus: 8}}
gpu_types:
  a40: {models: [A40]}
hardware:
  box: {cpus: 8, memory: 64G, gpu_slots: 2}
nodes:
  # the head and controller
  - {name: ctl, address: 10.92.1.1, roles: [head, controller, database]}
  - {name: fs1, address: 10.92.3.1, roles: [fileserver]}
  - {name: gpu-1, address: 10.92.2.1, roles: [compute], hardware: box, gpus: {a40: 2}}  # the first
  # no others yet
accounts:
  - {name: red, kind: lab, gid: 5001, contributed_gpus: 2}
users:
  - {name: ann, uid: 20001, account: red}
qos:
  normal: {default: true}
partitions:
  - {name: all, nodes: "@compute", max_time: 2d}
scheduler: {default_partition: all, default_memory: {per_gpu: 30G, per_cpu: 2G}}
storage:
  mount_on: "@head,@compute"
  exports:
    homes: {server: fs1, path: /export/homes, at: /home}
  home: {path: "/home/{user}", export: homes}
testbed: {nodes: "@controller,@fileserver,@compute"}
access: {keys: homes}
"""
OTHERS = '  - {name: "gpu-[2-4]", address: "10.92.2.[2-4]", roles: [compute], hardware: box, gpus: {a40: 2}}\n'


@pytest.fixture(scope="module")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """A cluster, and machines that are not in it: one of them is bare."""
    inventory = tmp_path_factory.mktemp("onboard") / "site"
    inventory.mkdir()
    file = inventory / "site.yml"
    file.write_text(
        SITE.replace("accounts:", f"{OTHERS}accounts:").replace("gpus: 2, cpus: 8}}", "gpus: 8, cpus: 32}}")
    )
    prefix = os.environ.get("GPUPOOL_TESTBED_PREFIX", "gpupool")
    spec, _ = wanted(inventory, name=None, prefix=prefix, network=NETWORK)

    def bare(box: Container) -> Container:
        return replace(box, packages=()) if box.name == NEW else box

    try:
        up = lifecycle.up(replace(spec, containers=tuple(map(bare, spec.containers))), inventory=inventory)
        file.write_text(SITE)
        hosts = Path(up.state.known_hosts)
        known = [line for line in hosts.read_text().splitlines() if line.split(",")[0] not in ADDRESSES]
        hosts.write_text("".join(f"{line}\n" for line in known))
        testbed = Testbed(inventory, find_target(inventory, "testbed"))
        done = testbed.apply()
        assert done.returncode == 0, done.stdout + done.stderr
        yield testbed
    finally:
        gpupool("testbed", "down", inventory)


def words(testbed: Testbed, *joining: str) -> list[str]:
    """Return the command that onboards machines and accepts their host keys."""
    with Nodes.of(testbed.target, {node: ADDRESSES[node].replace("10.92.", "10.183.") for node in joining}) as nodes:
        keys = [fingerprint(scan(nodes, node)[0]) for node in joining]
    agreed = [word for key in keys for word in ("--host-key", key)]
    named = [f"{node}={ADDRESSES[node]}" for node in joining]
    return ["onboard", str(testbed.inventory), *named, "--yes", *agreed, "--json"]


def written(testbed: Testbed) -> str:
    return (testbed.inventory / "site.yml").read_text()


def in_slurm(testbed: Testbed) -> dict[str, str]:
    """Return the state of each node in slurmctld."""
    return dict(line.split() for line in testbed.out(CONTROLLER, "sinfo -h -N -o '%N %T'").splitlines())


def pinned(testbed: Testbed) -> str:
    assert testbed.target.testbed
    return Path(testbed.target.testbed.known_hosts).read_text()


def test_three_bare_machines_join_despite_kills_and_no_other_node_is_touched(
    testbed: Testbed,
) -> None:
    job = testbed.submit("ann", "-w gpu-1 -G 1")
    testbed.wait_for(job, "RUNNING")
    command = [sys.executable, "-m", "gpupool", *words(testbed, *TOGETHER)]
    moments = [random.uniform(2, 8) for _ in range(KILLS)]
    for moment in (0.0, *moments):
        end = moment * start()
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as killed:
            if moment:
                time.sleep(end)
            else:
                until(
                    lambda: in_slurm(testbed).get(NEW, "").startswith("drain"), "slurmctld knows it, and it is drained"
                )
            killed.kill()
        assert written(testbed) == SITE, moments
        joining = {state.rstrip("*") for name, state in in_slurm(testbed).items() if name != "gpu-1"}
        assert not joining & {"idle", "mixed", "allocated"}, "a job could have begun there"
    done = gpupool(*words(testbed, *TOGETHER))
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert (sorted(document["joined"]), {*document["commands"]}) == ([*TOGETHER], {*TOGETHER, CONTROLLER})
    entry = '  - {name: "gpu-[2-4]", address: "10.92.2.[2-4]", roles: [compute], hardware: box, gpus: {a40: 2}}\n'
    expected = SITE.replace("# the first\n", f"# the first\n{entry}").replace(
        "gpus: 2, cpus: 8}}", "gpus: 8, cpus: 32}}"
    )
    assert written(testbed) == expected
    for node in TOGETHER:
        assert testbed.out(CONTROLLER, f"cd; srun -w {node} -G 1 hostname", "ann").split() == [node]
    assert testbed.job(job)["JobState"] == "RUNNING"
    later = testbed.plan("--limit", "fs1,gpu-1,ctl")[1]
    assert {name for name in later if name not in (*TOGETHER, CONTROLLER)} == {"fs1", "gpu-1"}
    assert CONTROLLER not in later
    assert "No reservations" in testbed.out(CONTROLLER, "scontrol show reservation")


def test_another_machine_takes_the_name_of_a_node_once_its_host_key_is_accepted(testbed: Testbed) -> None:
    before = written(testbed)
    testbed.out(NEW, "rm /etc/ssh/ssh_host_*; ssh-keygen -q -A; systemctl restart ssh")
    hang_up(testbed.container(NEW))
    anew = ["onboard", str(testbed.inventory), "--replace", NEW, "--yes", "--json"]
    done = gpupool(*anew)
    assert done.returncode == 1
    assert "the host key is new: compare it" in done.stderr
    assert in_slurm(testbed)[NEW] == "idle"
    done = gpupool(*anew, "--host-key", words(testbed, NEW)[5])
    assert done.returncode == 0, done.stdout + done.stderr
    assert (written(testbed), in_slurm(testbed)[NEW]) == (before, "idle")


def test_a_retired_node_leaves_no_trace_in_slurm_and_a_failed_return_is_undone(testbed: Testbed) -> None:
    done = gpupool("retire", testbed.inventory, ",".join(TOGETHER), "--yes", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert {*document["commands"]} == {*TOGETHER, CONTROLLER}
    assert written(testbed) == SITE
    assert ADDRESSES[NEW].replace("10.92.", "10.183.") not in pinned(testbed)
    known = testbed.out(CONTROLLER, "scontrol show node; scontrol show partition; cat /etc/slurm/*.conf")
    assert not [name for name in TOGETHER if name in known]
    container = testbed.container(NEW)
    states = subprocess.run(
        ["docker", "exec", container, "systemctl", "is-active", "slurmd", "munge"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "active" not in states.stdout.split()
    docker("exec", container, "systemctl", "mask", "slurmd")
    done = gpupool(*words(testbed, NEW))
    assert done.returncode == 1
    assert "slurmd.service cannot be enabled" in done.stderr
    assert f"{NEW}: not in Slurm, and the inventory is unchanged" in done.stderr
    assert (written(testbed), [*in_slurm(testbed)]) == (SITE, ["gpu-1"])
    runs = json.loads(gpupool("log", testbed.inventory, "--limit", CONTROLLER, "--json").stdout)["runs"]
    records = [run["nodes"][CONTROLLER] for run in runs]
    assert {record["command"] for record in records} >= {"apply", "onboard", "retire"}
    assert {(record["who"], record["cluster"]) for record in records} == {(whoami(), "join")}
