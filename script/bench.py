"""The measurements of script/bench: each prints a few lines of figures for this machine."""

import itertools
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench_accounts import accounts
from bench_arbiter import arbiter
from bench_peer import peer, start
from bench_usage import usage
from rich.console import Console
from rich.table import Table

from gpupool.compile.system.packages import packages_for
from gpupool.target import find_target
from gpupool.testbed.look import ssh_command

SKYNET, EXAMPLE = Path("inventory/skynet"), Path("inventory/example")
STAGE = re.compile(r"(\d/\d .*?|The cluster is up\.)(?:\x1b\[0m)?\s+\((\d+) s so far\)")
REHEARSAL = 240  # seconds
out = Console(highlight=False, soft_wrap=True)


def run(*command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a command and return its output; errors are printed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if check and done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done


def forget_images() -> None:
    """Remove gpupool's images and its cache of packages, which make the next testbed quick."""
    run("gpupool", "testbed", "down", str(SKYNET), check=False)
    for repository in ("gpupool/node", "gpupool/debian"):
        images = run("docker", "images", "-q", repository).stdout.split()
        if images:
            run("docker", "rmi", "--force", *dict.fromkeys(images), check=False)
    run("docker", "volume", "rm", "gpupool-apt-cache", check=False)


def demo() -> None:
    """Time the whole demo by stage, with nothing prepared and once more."""
    table = Table("stage", "cold s", "warm s", box=None, pad_edge=False, header_style="bold")
    forget_images()
    cold, warm = (stages(run("script/demo", str(SKYNET)).stderr) for _ in range(2))
    for (name, seconds), (_, again) in zip(cold, warm, strict=True):
        table.add_row(name, f"{seconds}", f"{again}")
    table.add_row("all", f"{sum(s for _, s in cold)}", f"{sum(s for _, s in warm)}")
    out.print("\n[bold]demo[/]: 10 containers", table, sep="\n")


def stages(text: str) -> list[tuple[str, int]]:
    """Return the seconds of each stage from the demo's output of elapsed times."""
    marks = [(match[1].strip(), int(match[2])) for match in STAGE.finditer(text)]
    return [(name, after - before) for (name, before), (_, after) in itertools.pairwise(marks)]


def noop() -> None:
    """Time a second apply: wall time, the controller's CPU and its commands, by node."""
    run("gpupool", "testbed", "up", str(SKYNET))
    run("gpupool", "apply", str(SKYNET), "--on", "testbed", "--yes")
    walls, cpus, report = [], [], {}
    for _ in range(3):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        report = json.loads(run("gpupool", "apply", str(SKYNET), "--on", "testbed", "--yes", "--json").stdout)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        walls.append(time.monotonic() - began)
        cpus.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    hosts = report["hosts"]
    commands = [host["commands"] for host in hosts.values()]
    wall, cpu = sorted(walls)[1], sorted(cpus)[1]
    out.print(f"\n[bold]no-op apply[/]: {len(hosts)} nodes, median of 3 runs")
    out.print(f"  wall            {wall:6.2f} s   {wall / len(hosts):6.3f} s a node")
    out.print(f"  controller CPU  {cpu:6.2f} s   {cpu / len(hosts):6.3f} s a node")
    out.print(f"  remote commands {sum(commands):6d}     {sum(commands) / len(hosts):6.1f} a node")


def example_peer() -> None:
    """Compare a no-op of one compute node of the example, on a separate testbed, by gpupool and by stock pyinfra."""
    options = ("--name", "peer", "--network", "10.182.0.0/16")
    run("gpupool", "testbed", "up", str(EXAMPLE), *options)
    try:
        run("gpupool", "apply", str(EXAMPLE), "--on", "testbed:peer", "--yes")
        peer(out, EXAMPLE, "testbed:peer")
    finally:
        run("gpupool", "testbed", "down", str(EXAMPLE), "--name", "peer")


def apt() -> None:
    """Time apt-get alone for the same packages on the same nodes, to compare with a deploy from nothing."""
    options = ("--network", "10.181.0.0/16", "--name", "bare")
    run("gpupool", "testbed", "up", str(SKYNET), "--bare", *options)
    try:
        target = find_target(SKYNET, "testbed:bare")
        state = target.testbed
        assert state

        def install(node: str) -> float:
            packages = " ".join(packages_for(target.cluster, target.cluster.nodes[node]))
            script = f"apt-get update -q && apt-get install -q -y --no-install-recommends {packages}"
            # without this apt would wait 92 s for a slurmd that has no configuration
            quiet = "printf '#!/bin/sh\\nexit 101\\n' >/usr/sbin/policy-rc.d; chmod 755 /usr/sbin/policy-rc.d; "
            began = time.monotonic()
            run(*ssh_command(state, node, command=[f"{quiet}DEBIAN_FRONTEND=noninteractive sh -c '{script}'"]))
            return time.monotonic() - began

        began = time.monotonic()
        with ThreadPoolExecutor() as pool:
            each = list(pool.map(install, [node.name for node in target.nodes]))
        alone = time.monotonic() - began
    finally:
        run("gpupool", "testbed", "down", str(SKYNET), "--name", "bare")
    run("gpupool", "testbed", "up", str(SKYNET), "--bare", *options)
    try:
        began = time.monotonic()
        run("gpupool", "apply", str(SKYNET), "--on", "testbed:bare", "--yes")
        whole = time.monotonic() - began
    finally:
        run("gpupool", "testbed", "down", str(SKYNET), "--name", "bare")
    out.print(f"\n[bold]apt-get install alone[/]: {len(each)} nodes at once, from plain Debian")
    out.print(f"  apt-get alone   {alone:6.1f} s   (a node: {min(each):.1f} to {max(each):.1f} s)")
    out.print(
        f"  gpupool apply   {whole:6.1f} s   {whole / alone:.2f} times apt-get: the same packages, and the cluster"
    )


def rehearsal() -> None:
    """Time SkyNet's rehearsal at full size, and compare with the limit on two idle cores."""
    began = time.monotonic()
    run("gpupool", "rehearse", str(SKYNET))
    took = time.monotonic() - began
    out.print(f"\n[bold]a rehearsal of SkyNet[/]: {took:.0f} s; {REHEARSAL} are allowed")
    if took > REHEARSAL:
        sys.exit(f"the rehearsal took {took:.0f} s: on two cores that do nothing else it may take {REHEARSAL}")


def inventory() -> None:
    """Time check and render of 10,000 nodes."""
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder) / "site"
        site.mkdir()
        (site / "cluster.yml").write_text(huge(10_000))
        out.print("\n[bold]an inventory of 10,000 compute nodes[/], each written out")
        # render --out would time the disk: 60,000 files in 80,000 folders
        for word in ("check", "render"):
            began = time.monotonic()
            run("gpupool", word, str(site))
            out.print(f"  {word:15} {time.monotonic() - began:6.2f} s")


def huge(count: int) -> str:
    """Return an inventory in which every node is a separate entry."""
    nodes = "\n".join(
        f"  - {{name: n{n:05}, address: 10.{64 + n // 65536}.{n // 256 % 256}.{n % 256}, "
        "roles: [compute], hardware: box, gpus: {a40: 8}}"
        for n in range(256, 256 + count)
    )
    return f"""schema: 1
cluster: {{name: huge, network: 10.64.0.0/10}}
gpu_types: {{a40: {{models: [A40]}}}}
hardware: {{box: {{cpus: 64, memory: 512G, gpu_slots: 8}}}}
nodes:
  - {{name: control, address: 10.64.0.1, roles: [controller, database]}}
  - {{name: login, address: 10.64.0.2, roles: [head]}}
{nodes}
accounts:
  - {{name: lab, kind: lab, gid: 5001, contributed_gpus: {8 * count}}}
users: [{{name: u-one, uid: 20001, account: lab}}]
qos: {{normal: {{default: true}}}}
partitions: [{{name: short, nodes: "@compute", max_time: 2d}}]
access: {{keys: homes}}
"""


def main() -> None:
    """Run the chosen measurements, or all of them."""
    parts: dict[str, Callable[[], None]] = {
        "start": lambda: start(out, SKYNET), "peer": example_peer,
        "inventory": inventory, "demo": demo, "noop": noop, "apt": apt, "accounts": lambda: accounts(out, EXAMPLE),
        "arbiter": lambda: arbiter(out, SKYNET), "usage": lambda: usage(out), "rehearsal": rehearsal,
    }  # fmt: skip
    wanted = sys.argv[1:] or list(parts)
    if unknown := [word for word in wanted if word not in parts]:
        sys.exit(f"there is no {', '.join(unknown)}: {', '.join(parts)}")
    out.print(f"{os.cpu_count()} CPUs, {os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') >> 30} GiB, ", end="")
    out.print(f"load {os.getloadavg()[0]:.1f}, kernel {os.uname().release.split('-')[0]}")
    try:
        for word in wanted:
            parts[word]()
    finally:
        if set(wanted) - {"start", "peer", "inventory", "arbiter", "usage", "rehearsal"}:
            run("gpupool", "testbed", "down", str(SKYNET), "--name", "skynet", check=False)


if __name__ == "__main__":
    main()
