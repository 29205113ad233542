"""The cost of slurmdbd for 100 labs with 5,000 users: compared and changed as by apply, on a testbed's database."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console

from gpupool.cluster.load import load
from gpupool.compile.slurm.accounting import entities
from gpupool.operations.accounting import ask_text, difference, normal, read, script
from gpupool.target import find_target
from gpupool.testbed.look import ssh_command
from gpupool.testbed.state import State

LABS, USERS = 100, 5_000
NETWORK = "10.182.0.0/16"


def accounts(out: Console, example: Path) -> None:
    """Time the first run, a run without changes, and the removal of one lab."""
    run("gpupool", "testbed", "up", str(example), "--network", NETWORK)
    try:
        run("gpupool", "apply", str(example), "--on", "testbed", "--yes")
        _time(out, example)
    finally:
        run("gpupool", "testbed", "down", str(example))


def _time(out: Console, example: Path) -> None:
    target = find_target(example, "testbed")
    assert target.testbed
    database = next(node.name for node in target.nodes if node.has("database"))
    out.print(f"\n[bold]accounts[/]: {LABS} labs with {USERS} users, each in the lab and in overcap")
    for what, labs in (("first", LABS), ("no-op", LABS), ("a lab goes", LABS - 1)):
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "cluster.yml").write_text(made(target.cluster.name, labs))
            wanted = normal(entities(load(Path(folder))))
        loaded = time.monotonic()
        state = read(ask(target.testbed, database, ask_text(target.cluster.name)))
        if state is None or state.trouble:
            sys.exit(f"slurmdbd: {state.trouble if state else 'no whole answer'}")
        asked = time.monotonic()
        steps = difference(state.entities, wanted)
        compared = time.monotonic()
        if steps:
            ask(target.testbed, database, script(steps))
        ended = time.monotonic()
        out.print(
            f"  {what:11} {ended - loaded:6.1f} s   ask {asked - loaded:.1f}, compare {compared - asked:.1f}, "
            f"change {ended - compared:.1f}: {len(steps)} commands   (inventory {loaded - began:.1f} s)"
        )


def ask(testbed: State, node: str, text: str) -> str:
    """Run shell text on a node and return its output."""
    return run(*ssh_command(testbed, node, command=["sh -s"]), text=text)


def run(*command: str, text: str | None = None) -> str:
    """Run a command and return its output; errors are printed."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def made(cluster: str, labs: int) -> str:
    """Return an inventory of many labs, each with its cap, its users and a coordinator."""
    accounts = "\n".join(
        f"  - {{name: lab{lab}, kind: lab, gid: {5000 + lab}, contributed_gpus: {1 + lab % 15}}}" for lab in range(labs)
    )
    users = "\n".join(
        f"  - {{name: u{lab}-{user}, uid: {20000 + lab * 100 + user}, account: lab{lab}"
        f"{', coordinator: true' if user == 0 else ''}}}"
        for lab in range(labs)
        for user in range(USERS // LABS)
    )
    return f"""schema: 1
cluster: {{name: {cluster}, network: 10.64.0.0/10}}
gpu_types: {{a40: {{models: [A40]}}}}
hardware: {{box: {{cpus: 128, memory: 1T, gpu_slots: 8}}}}
nodes:
  - {{name: control, address: 10.64.0.1, roles: [controller, database]}}
  - {{name: login, address: 10.64.0.2, roles: [head]}}
  - {{name: "n[001-{LABS}]", address: "10.64.1.[1-{LABS}]", roles: [compute], hardware: box, gpus: {{a40: 8}}}}
accounts:
{accounts}
  - {{name: overcap, kind: shared, members: all}}
users:
{users}
qos: {{normal: {{default: true}}, short: {{max_wall: 2d}}}}
partitions:
  - {{name: short, nodes: "@compute", max_time: 2d, tier: 80, deny_accounts: [overcap]}}
  - {{name: overcap, nodes: "@compute", max_time: 2d, tier: 10, allow_accounts: [overcap], preemptable: true}}
access: {{keys: homes}}
"""
