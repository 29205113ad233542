"""A no-op of one node compared with stock pyinfra on equal work, and the cost of a start."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from gpupool.cluster.node import Node
from gpupool.compile import files_for, links_for
from gpupool.compile.system.packages import packages_for
from gpupool.compile.system.people import groups_for, people_for
from gpupool.target import Target, find_target
from gpupool.unix import UNITS

ROUNDS = 5
BIN = Path(sys.executable).parent
PYINFRA, GPUPOOL = str(BIN / "pyinfra"), str(BIN / "gpupool")
SERVICES = ("munge", "slurmd", "ssh")
DEPLOY = Path(__file__).with_name("bench_peer_deploy.py")


@dataclass(frozen=True)
class Cost:
    """The cost of a command: seconds of CPU, user's and system's, and the memory of its largest process, in MiB.

    Linux counts this process's own memory as that of a smaller child process.
    """

    cpu: float
    memory: float


def cost(command: Sequence[str], **environment: str) -> Cost:
    """Run a command and return its cost; a command that fails ends the measurement."""
    # Python's bytecode is kept, as in an installed gpupool
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env={**kept, **environment})
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            sys.exit(f"{' '.join(command)}: {output.read().decode(errors='replace')}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def medians(commands: Mapping[str, tuple[Sequence[str], Mapping[str, str]]]) -> dict[str, Cost]:
    """Return the median cost of each command; the commands alternate, so that all run under the same load."""
    taken: dict[str, list[Cost]] = {name: [] for name in commands}
    for number in range(ROUNDS + 1):
        for name, (command, environment) in commands.items():
            found = cost(command, **environment)
            if number:  # the first round fills caches
                taken[name].append(found)
    return {
        name: Cost(statistics.median(cost.cpu for cost in costs), statistics.median(cost.memory for cost in costs))
        for name, costs in taken.items()
    }


def start(out: Console, inventory: Path) -> None:
    """Print the cost of a start, compared with `pyinfra --version`."""

    def completing(line: str) -> tuple[Sequence[str], Mapping[str, str]]:
        words = ["gpupool", *line.split(" ")]
        asked = {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
        return [GPUPOOL], {"_GPUPOOL_COMPLETE": "complete_bash", **asked}

    costs = medians({
        "pyinfra --version": ([PYINFRA, "--version"], {}),
        "gpupool --version": ([GPUPOOL, "--version"], {}),
        "TAB: a command": completing("re"),
        "TAB: an option": completing("plan x --l"),
        "TAB: a node": completing(f"plan {inventory} --limit a"),
        f"gpupool check {inventory}": ([GPUPOOL, "check", str(inventory)], {}),
    })  # fmt: skip
    out.print("\n[bold]start[/]", _table(costs, "pyinfra --version", memory=False), sep="\n")


def peer(out: Console, inventory: Path, on: str) -> None:
    """Print a no-op of one compute node by both; pyinfra gets the state that gpupool produced."""
    target = find_target(inventory, on)
    node = next(node for node in target.nodes if node.has("compute"))
    apply = [GPUPOOL, "apply", str(inventory), "--on", on, "--limit", node.name, "--yes"]
    with tempfile.TemporaryDirectory(prefix="gpupool-bench-") as folder:
        state = work(target, node, Path(folder))
        stock = [PYINFRA, "-y", f"{folder}/inventory.py", str(DEPLOY)]
        cost(stock)
        ensure_no_op([*stock, "--json"], ("results", "totals", "success"))
        ensure_no_op([*apply, "--json"], ("changed",))
        costs = medians({
            "pyinfra": (stock, {}),
            "gpupool apply": (apply, {}),
            "gpupool plan": ([GPUPOOL, "plan", *apply[2:-1]], {}),
        })  # fmt: skip
    counts = ", ".join(f"{len(rows)} {kind}" for kind, rows in state.items() if isinstance(rows, list))
    out.print(f"\n[bold]a no-op of {node.name}[/]: {counts}", _table(costs, "pyinfra"), sep="\n")
    if costs["gpupool apply"].cpu >= costs["pyinfra"].cpu:
        sys.exit("gpupool takes more CPU than stock pyinfra for one node")


def work(target: Target, node: Node, folder: Path) -> dict[str, object]:
    """Write pyinfra's inventory of the node to a folder, and return the state that its deploy has to produce."""
    cluster = target.cluster
    files = []
    for number, file in enumerate(files_for(cluster, node)):
        source = folder / f"file-{number}"
        source.write_text(file.text)
        files.append([str(source), file.path, file.owner, file.group, file.mode])
    timers = [Path(path).name for _, path, *_ in files if path.startswith(f"{UNITS}/") and path.endswith(".timer")]
    state: dict[str, object] = {
        "files": files,
        "links": list(links_for(cluster, node).items()),
        "packages": list(packages_for(cluster, node)),
        "groups": list(groups_for(cluster).items()),
        "users": [
            [person.name, person.uid, person.group, list(person.groups), person.home, person.shell]
            for person in people_for(cluster, node)
        ],
        "services": [*SERVICES, *timers],
    }
    ssh = {key: value for key, value in target.data(node).items() if key.startswith("ssh_")}
    data = {**ssh, "state": state}
    (folder / "inventory.py").write_text(f"nodes = [({node.name!r}, {data!r})]\n")
    return state


def ensure_no_op(command: Sequence[str], count: Sequence[str]) -> None:
    """End the measurement if a run of a command changes anything, by the count in its JSON."""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    for key in count:
        found = found[key]
    if found:
        sys.exit(f"{' '.join(command)} is no no-op: {done.stdout}")


def _table(costs: Mapping[str, Cost], beside: str, *, memory: bool = True) -> Table:
    table = Table("", "CPU s", "ratio", *(["MiB", "ratio"] if memory else []), box=None, header_style="bold")
    other = costs[beside]
    for name, cost in costs.items():
        more = [f"{cost.memory:.0f}", f"{cost.memory / other.memory:.2f}"] if memory else []
        table.add_row(name, f"{cost.cpu:.2f}", f"{cost.cpu / other.cpu:.2f}", *more)
    return table
