"""A driver is upgraded on nodes in service: no job is ended, few nodes are out at once, an admin's drain stays."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from pace import start, until

from gpupool.remote.controller import reach
from gpupool.testbed import state
from gpupool.upkeep.accept import accept
from gpupool.upkeep.announce import PATH
from gpupool.upkeep.choice import RESERVATION
from tests.testbed.cluster import ROOT, Testbed, docker, gpupool, hang_up, up

NETWORK = "10.182.0.0/16"
HEAD = "ctl"
INVENTORY = """schema: 1
cluster: {name: upkeep, domain: upkeep.example, network: 10.90.0.0/16}
gpu_types: {a40: {models: [A40]}}
hardware: {box: {cpus: 16, memory: 64G, gpu_slots: 2, cpus_kept_per_gpu: 4}}
nodes:
  - {name: ctl, address: 10.90.1.1, roles: [head, controller, database]}
  - {name: "gpu-[1-4]", address: "10.90.2.[1-4]", roles: [compute], hardware: box, gpus: {a40: 2}}
accounts:
  - {name: red, kind: lab, gid: 5001, contributed_gpus: 4}
  - {name: blue, kind: lab, gid: 5002, contributed_gpus: 4}
users: [{name: ann, uid: 20001, account: red}]
qos: {normal: {default: true}}
partitions: [{name: all, nodes: "@compute", max_time: 2d, default_time: 1h}]
scheduler:
  default_partition: all
  default_memory: {per_gpu: 8G, per_cpu: 1G}
  max_memory: {per_gpu: 16G, per_cpu: 2G}
testbed: {nodes: "ctl,gpu-[1-4]"}
access: {keys: homes}
"""
#: Its old driver stays loaded until it is rebooted.
BUSY = "gpu-3"
KILLS = 2


@pytest.fixture(scope="module")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """Four nodes with a fake driver, 550.1; the containers of nodes that reboot are switched on again."""
    inventory = tmp_path_factory.mktemp("maintain") / "upkeep"
    inventory.mkdir()
    (inventory / "inventory.yml").write_text(INVENTORY)
    try:
        testbed = up(inventory, NETWORK)
        script = (Path(__file__).parent / "standin_driver.sh").read_text()
        for node in testbed.cluster.having("compute"):
            testbed.out(node.name, f"bash -s {'busy' if node.name == BUSY else 'free'}", text=script)
        yield testbed
    finally:
        gpupool("testbed", "down", inventory)


@pytest.fixture(scope="module")
def copy(testbed: Testbed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return another checkout: a copy of the inventory in another folder, with the same testbed."""
    assert testbed.target.testbed
    there = shutil.copytree(testbed.inventory, tmp_path_factory.mktemp("another") / "checkout")
    seen = replace(testbed.target.testbed, id=f"{testbed.target.testbed.id}-another", inventory=str(there))
    state.folder(seen.id).mkdir(mode=0o700, exist_ok=True)
    state.save(seen)
    yield there
    state.forget(seen.id)


def maintain(inventory: Path, *arguments: str) -> subprocess.Popen[str]:
    program = str(Path(__file__).parent / "standins.py")
    command = [sys.executable, program, "maintain", str(inventory), "--on", "testbed", "--yes", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command,
        stdout=pipe,
        stderr=pipe,
        text=True,
        env={**os.environ, "STANDIN_DRIVER": "560", "PYTHONPATH": str(ROOT)},
    )


def listening(run: subprocess.Popen[str]) -> tuple[threading.Thread, list[str]]:
    """Return a thread that reads the standard error of a run until it ends, and the lines read so far."""
    lines: list[str] = []

    def listen() -> None:
        for line in run.stderr or ():
            lines.append(line)

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    return listener, lines


def nodes(testbed: Testbed) -> dict[str, tuple[str, str]]:
    """Return the state and the reason of each node in sinfo."""
    rows = (line.split(" ", 2) for line in testbed.out(HEAD, "sinfo -h -N -o '%N %T %E' | sort -u").splitlines())
    return {name: (state, reason) for name, state, reason in rows}


def drained_nodes(testbed: Testbed) -> set[str]:
    """Return the nodes that maintenance has drained."""
    return {
        name
        for name, (state, reason) in nodes(testbed).items()
        if "gpupool: maintain: " in reason or "maint" in state or state.endswith("$")
    }


def driver(testbed: Testbed, node: str) -> str:
    """Return the version of the loaded driver."""
    return testbed.out(node, "grep -o '[0-9.]*  now' /proc/driver/nvidia/version").split()[0]


def left_behind(testbed: Testbed) -> str:
    """Return the possible leftovers of a maintenance on the cluster: reservation, partition, message, and drains."""
    query = "scontrol -o show reservation | grep -v 'No reservations'; scontrol -o show partition | grep gpupool"
    return testbed.run(HEAD, f"{query}; ls {PATH} 2>/dev/null; sinfo -h -R | grep gpupool").stdout


def switch_on_again(testbed: Testbed, node: str) -> None:
    """Start a container whenever it has stopped, as by a reboot, until the testbed is removed."""
    with suppress(subprocess.CalledProcessError):
        while True:
            docker("wait", testbed.container(node))
            hang_up(testbed.container(node))
            docker("start", testbed.container(node))


@pytest.fixture(scope="module", autouse=True)
def power(testbed: Testbed) -> None:
    """Switch containers that reboot on again."""
    for node in ("gpu-1", BUSY):
        threading.Thread(target=switch_on_again, args=(testbed, node), daemon=True).start()


def test_a_driver_is_rolled_out_two_nodes_at_a_time_and_continues_after_kills(testbed: Testbed, copy: Path) -> None:
    testbed.out(HEAD, "scontrol update nodename=gpu-4 state=drain reason='disk is replaced'")
    job = testbed.submit("ann", "-w gpu-2 -G 1", "while [ ! -e /var/tmp/end-of-the-job ]; do sleep 1; done")
    testbed.wait_for(job, "RUNNING")
    most = 0

    def seen() -> set[str]:
        nonlocal most
        found = drained_nodes(testbed)
        most = max(most, len(found))
        return found

    first = maintain(testbed.inventory, "--nodes", "@compute", "--at-most", "2")
    canary = until(seen, "the first node is drained", lambda: str(first.poll()))
    first.send_signal(signal.SIGSTOP)
    assert testbed.out(HEAD, f"cat {PATH}").startswith("Maintenance since ")
    second = maintain(copy, "--nodes", "@compute")
    output = second.communicate()[1]
    assert second.returncode == 1
    assert "has been doing maintenance since" in output
    first.kill()
    first.communicate()
    assert seen() == canary
    assert canary in ({"gpu-1"}, {BUSY}), "one without jobs goes first, and alone"

    moments = [random.uniform(4, 20) for _ in range(KILLS)]
    for moment in moments:
        end = time.monotonic() + moment * start()
        killed = maintain(random.choice([testbed.inventory, copy]), "--nodes", "@compute", "--at-most", "2")
        while time.monotonic() < end:
            assert len(seen()) <= 2, moments
        killed.kill()
        output = "".join(killed.communicate())
        assert killed.returncode == -signal.SIGKILL, (moments, output)
        assert testbed.job(job)["JobState"] == "RUNNING", moments
        assert nodes(testbed)["gpu-4"] == ("drained", "disk is replaced"), moments

    stopped = maintain(copy, "--nodes", "@compute", "--at-most", "2")
    listener, lines = listening(stopped)
    until(lambda: most == 2 or len(seen()) == 2, "two are out at once", lambda: f"{nodes(testbed)} {lines}")
    until(lambda: seen() == {"gpu-2"}, "the others are done, and one waits", lambda: str(nodes(testbed)))
    # the nodes before it may already be done: this node must be in progress, too, before the run is stopped
    until(lambda: any("gpu-2" in line and "waiting for" in line for line in lines), "it waits", lambda: "".join(lines))
    stopped.send_signal(signal.SIGINT)
    stopped.wait()
    listener.join()
    output = "".join(lines)
    assert stopped.returncode == 130, output
    assert "stopped: nodes in progress stay drained and reserved; run the same command again to continue" in output
    assert seen() == {"gpu-2"}
    assert "Nodes=gpu-2 " in testbed.out(HEAD, f"scontrol -o show reservation {RESERVATION}")

    again = maintain(copy, "--nodes", "@compute", "--at-most", "2", "--json")
    assert testbed.job(job)["JobState"] == "RUNNING"
    assert driver(testbed, "gpu-2") == "550.1"
    testbed.out("gpu-2", "touch /var/tmp/end-of-the-job")
    output, errors = again.communicate()
    seen()
    assert most == 2
    assert testbed.out(HEAD, f"sacct -n -X -j {job} -o State").strip() == "COMPLETED", "no job was ended"
    report = json.loads(output)
    phases = {name: node["phase"] for name, node in report["nodes"].items()}
    nothing = "nothing to do"  # done by an earlier run
    assert phases == {"gpu-1": nothing, "gpu-2": "done", "gpu-3": nothing, "gpu-4": "left alone"}, errors
    assert again.returncode == 1, "one node was not maintained"
    assert report["nodes"]["gpu-4"]["why"] == "drained by others: disk is replaced"
    assert [(lab["lab"], lab["may_lack"]) for lab in report["labs"]] == [("red", 4), ("blue", 4)]
    assert {name: driver(testbed, name) for name in phases} == {
        "gpu-1": "560.1", "gpu-2": "560.1", "gpu-3": "560.1", "gpu-4": "550.1"
    }  # fmt: skip
    assert nodes(testbed)["gpu-4"] == ("drained", "disk is replaced")
    assert left_behind(testbed) == ""


def test_a_test_job_of_a_killed_run_delays_no_other(testbed: Testbed) -> None:
    testbed.out(HEAD, "scontrol create partitionname=gpupool_maintain nodes=gpu-1 rootonly=yes hidden=yes state=up")
    job = testbed.out(HEAD, "cd /; sbatch --parsable -o /dev/null -p gpupool_maintain -G 2 --wrap 'sleep 9'")
    testbed.wait_for(job, "RUNNING")
    with reach(testbed.target) as controller:
        found = accept(controller, [testbed.cluster.nodes["gpu-1"]], "maintain", "")
    assert found["gpu-1"].problems == ()
    testbed.wait_for(job, "COMPLETED")
    assert left_behind(testbed) == ""


def test_a_node_without_jobs_reboots_and_a_node_whose_job_takes_too_long_is_resumed(testbed: Testbed) -> None:
    booted = "stat -c %Y /proc/1"
    before = {name: testbed.out(name, booted) for name in ("gpu-1", "gpu-2")}
    job = testbed.submit("ann", "-w gpu-2 -G 1")
    testbed.wait_for(job, "RUNNING")
    run = maintain(testbed.inventory, "--nodes", "gpu-[1-2]", "--at-most", "2", "--reboot", "--wait", "1s", "--json")
    output, errors = run.communicate()
    found = json.loads(output)["nodes"]
    assert (run.returncode, found["gpu-1"]["phase"]) == (1, "done"), errors
    assert found["gpu-2"]["phase"] == "not begun"
    assert found["gpu-2"]["why"].startswith(f"its jobs did not end in time: 1 job ({job} of ann until ")
    after = {name: testbed.out(name, booted) for name in before}
    assert [name for name in before if after[name] != before[name]] == ["gpu-1"]
    assert driver(testbed, "gpu-1") == "560.1"
    in_service = {"gpu-1": "idle", "gpu-2": "mixed"}
    # slurmctld may show a node with an asterisk until it has answered the next ping
    until(lambda: {name: nodes(testbed)[name][0] for name in before} == in_service, "both are in service")
    assert testbed.job(job)["JobState"] == "RUNNING"
    assert left_behind(testbed) == ""


def tool(testbed: Testbed, node: str) -> str:
    """Return the installed version of the package that the archive of security raises."""
    return testbed.out(node, "dpkg-query -W -f '${Version}' gpupool-tool")


def test_security_fixes_stop_at_a_canary_that_fails_and_else_reach_all_nodes(testbed: Testbed) -> None:
    # a test before this one leaves a job on gpu-2
    testbed.out(HEAD, "scancel -u ann")
    names = ["gpu-1", "gpu-2", "gpu-3"]
    script = (Path(__file__).parent / "security_archive.sh").read_text()
    for name in names:
        testbed.out(name, "sh -s", text=script)
    command = ("--nodes", "gpu-[1-3]", "--packages", "security", "--at-most", "2", "--json")
    job = testbed.submit("ann", "-w gpu-2 -G 1", "while [ ! -e /var/tmp/end-of-this-job ]; do sleep 1; done")
    testbed.wait_for(job, "RUNNING")

    stopped = maintain(testbed.inventory, *command)
    output, errors = stopped.communicate()
    found = json.loads(output)["nodes"]
    assert stopped.returncode == 1, errors
    assert "price: it waits for " in errors
    failed = [name for name in names if found[name]["phase"] == "failed"]
    assert len(failed) == 1, errors
    assert failed != ["gpu-2"], "a node without jobs goes first"
    assert "apt-get install: " in found[failed[0]]["why"]
    assert {found[name]["phase"] for name in names if name not in failed} == {"not begun"}
    assert {tool(testbed, name) for name in names} == {"1"}
    assert "gpupool: maintain: failed: " in nodes(testbed)[failed[0]][1]
    assert testbed.job(job)["JobState"] == "RUNNING"

    for name in names:
        testbed.out(name, "rm /var/tmp/broken")
    again = maintain(testbed.inventory, *command)
    listener, lines = listening(again)
    until(lambda: any("gpu-2" in line and "waiting for" in line for line in lines), "it waits", lambda: "".join(lines))
    assert testbed.job(job)["JobState"] == "RUNNING"
    assert tool(testbed, "gpu-2") == "1"
    testbed.out("gpu-2", "touch /var/tmp/end-of-this-job")
    assert again.stdout
    found = json.loads(again.stdout.read())["nodes"]
    listener.join()
    assert again.wait() == 0, "".join(lines)
    assert {found[name]["phase"] for name in names} == {"done"}
    assert {tool(testbed, name) for name in names} == {"2"}
    assert testbed.out(HEAD, f"sacct -n -X -j {job} -o State").strip() == "COMPLETED"
    assert left_behind(testbed) == ""
