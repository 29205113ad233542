"""Find the differences from the inventory: the changes of a plan, keys in slurmctld, and GPU device files."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.slurm.conf import SLURM_CONF
from gpupool.drift import rows
from gpupool.engine.report import Report
from gpupool.programs.drift import slurm
from gpupool.programs.drift.difference import BROKEN, NONE, Difference
from gpupool.run.runner import DeployRunner
from gpupool.target import Target

if TYPE_CHECKING:
    from gpupool.programs.drift.state import SlurmState

_NVIDIA = tuple(f"/dev/nvidia{number}" for number in range(64))


@dataclass(frozen=True)
class Drift:
    """All differences in inventory order; `unread` has the reason for each node that could not be read."""

    differences: tuple[Difference, ...]
    unread: Mapping[str, str]


def drift(runner: DeployRunner, plan: Report, names: Collection[str]) -> Drift:
    """Return the differences of the nodes in `names`; `plan` is the plan of these nodes."""
    target = runner.target
    unread = dict(plan.failures)
    differences = {
        name: list(rows.differences(name, host.changes)) for name, host in plan.hosts.items() if name in names
    }
    states, devices = _live(runner, {name for name in names if name not in unread}, unread)
    for node in target.nodes:
        if node.name in devices and node.name in differences:
            differences[node.name] += _hardware(node, differences[node.name], devices[node.name])
    for name, state in states.items():
        if state.trouble:
            unread[name] = f"slurmctld does not answer: {state.trouble}"
        of_slurm = _slurm(target, name, state)
        # these rows compare slurm.conf key by key, so they replace the plan's row, unless only a comment differs
        if any(row.inventory != row.file for row in of_slurm) and name in differences:
            differences[name] = [row for row in differences[name] if row.what != target.cluster.slurm.file(SLURM_CONF)]
        for row in of_slurm:
            if row.node in differences:
                differences[row.node].append(row)
    ordered = (row for node in target.nodes for row in differences.get(node.name, ()))
    return Drift(tuple(ordered), unread)


def _slurm(target: Target, controller: str, state: "SlurmState") -> list[Difference]:
    node = target.cluster.nodes[controller]
    conf = target.cluster.slurm.file(SLURM_CONF)
    wanted = next(file.text for file in files_of(target.cluster, node, "slurm") if file.path == conf)
    names = {node.slurm_name: node.name for node in target.cluster.having("compute")}
    return list(slurm.differences(controller, wanted, state, names))


def _live(
    runner: DeployRunner, names: Collection[str], unread: dict[str, str]
) -> tuple[dict[str, "SlurmState"], dict[str, Collection[str]]]:
    """Return slurmctld's state, read on the first controller that answered, and the nodes' GPU device files."""
    from gpupool.engine.current import cluster_and_node
    from gpupool.facts.devices import Devices
    from gpupool.facts.live import LiveSlurm
    from gpupool.operations.frame import look

    target = runner.target
    controllers = [node for node in target.cluster.controllers if node.manages("slurm")]
    controller = next((node.name for node in controllers if node.name not in unread), None)
    states: dict[str, SlurmState] = {}
    devices: dict[str, Collection[str]] = {}

    def ask() -> None:
        node = cluster_and_node()[1]
        if node.name == controller:
            states[node.name] = look(LiveSlurm, "what slurmctld runs with", path=target.cluster.slurm.file(SLURM_CONF))
        if _has_devices(node) and node.name in names:
            paths = dict.fromkeys((*_NVIDIA, *_files(node)))
            devices[node.name] = look(Devices, "the device files", paths=list(paths)).keys()

    asked = {
        node.name for node in target.nodes if node.name == controller or (_has_devices(node) and node.name in names)
    }
    if asked:
        done = runner.deploy(ask, asked, execute=False)
        done.ensure_not_interrupted()
        unread.update(done.failures)
    return states, devices


def _has_devices(node: Node) -> bool:
    return bool(node.devices) and node.manages("gpu")


def _files(node: Node) -> list[str]:
    return [path for device in node.devices if not device.is_guess for path in device.files]


def _hardware(node: Node, known: list[Difference], present: Collection[str]) -> list[Difference]:
    """Return a row for missing or surplus GPUs; none if the plan already has a hardware row, as in a testbed."""
    wanted = _files(node)
    missing = [path for path in wanted if path not in present]
    known_files = {file for device in node.all_devices for file in device.files}
    more = (
        [path for path in present if path in _NVIDIA and path not in known_files] if set(wanted) & set(_NVIDIA) else []
    )
    if not (missing or more) or any(row.kind == "hardware" for row in known):
        return []
    parts = [f"without {', '.join(missing)}"] if missing else []
    live = "; ".join([*parts, f"{', '.join(more)} beside them"] if more else parts)
    return [Difference(node.name, "hardware", "GPU devices", f"{len(wanted)}", NONE, live, BROKEN)]
