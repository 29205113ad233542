"""Preparation of maintenance before any node is drained: the state of the nodes, their work, and what labs may lack."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from gpupool.cluster.node import Node
from gpupool.errors import GpupoolError, UsageError
from gpupool.remote.controller import Controller
from gpupool.run.runner import DeployRunner
from gpupool.slurm.jobs import Job
from gpupool.upkeep.choice import GOOD, RESERVATION, Progress, begun, first_look, out_of_service
from gpupool.upkeep.packages import Newer, newer
from gpupool.upkeep.price import Price, price_of
from gpupool.upkeep.reboot import boots
from gpupool.upkeep.reserve import reservation
from gpupool.upkeep.shares import Share, shares_of, worst
from gpupool.upkeep.state import by_node, ends, jobs, states
from gpupool.upkeep.waves import MaintenanceOptions, too_much
from gpupool.wording import counted

_NEVER = "9999"  # after all times that Slurm writes


@dataclass(frozen=True)
class Prepared:
    """The start of maintenance: `started` are nodes that an earlier run has begun, `since` is the begin in Unix time.

    `lacking` is the maximum that each lab may lack at once, in the unit of its share. `price` is that of all nodes
    together. `newer` has the packages with a newer version by node, if the options ask for them.
    """

    progress: dict[str, Progress]
    started: tuple[str, ...]
    shares: tuple[Share, ...]
    lacking: dict[str, int]
    since: int
    price: Price
    newer: Mapping[str, Newer]

    @property
    def ok(self) -> bool:
        """Return whether all nodes are done or had nothing to do."""
        return all(progress.phase in GOOD for progress in self.progress.values())


def prepare(
    controller: Controller, runner: DeployRunner, nodes: Sequence[Node], options: MaintenanceOptions
) -> Prepared:
    """Return the work to do on each node, from the nodes' state and a plan of the inventory; change nothing.

    GpupoolError if an earlier maintenance has not finished on other nodes; UsageError if a single node would cost a lab
    more than `options` allow.
    """
    computing = controller.target.cluster.having("compute")
    known, reserved = states(controller, computing), reservation(controller, RESERVATION)
    started = begun(known, reserved, computing)
    names = {node.name for node in nodes}
    if strangers := [name for name in started if name not in names]:
        raise GpupoolError(
            f"an earlier maintenance was interrupted on {', '.join(strangers)} and did not finish: "
            "add them to --nodes to continue there"
        )
    progress = first_look(nodes, known, started)
    packages = _find_work(controller, runner, progress, started, options)
    shares = shares_of(controller.target.cluster)
    waiting = [each.node.name for each in progress.values() if each.phase == "waiting"]
    for name in waiting:
        if lost := too_much(options.bounds, shares, [name]):
            lab, count = next(iter(lost.items()))
            raise UsageError(
                f"--per-lab {options.bounds.per_lab}: {name} alone may take {count} GPUs from {lab}; "
                f"allow at least {count}"
            )
    out = out_of_service(controller, known) - {*waiting}
    lacking = worst(shares, waiting, options.bounds.at_most, out)
    if (most := options.bounds.per_lab) is not None:
        already = worst(shares, (), 0, out)
        gpus = {share.account for share in shares if share.unit == "GPUs"}
        lacking = {name: max(already[name], min(n, most)) if name in gpus else n for name, n in lacking.items()}
    since = reserved.start if reserved else int(time.time())
    nodes = [each.node for each in progress.values()]
    busy = by_node(jobs(controller, nodes), nodes)
    work = [progress[name].node for name in waiting]
    price = price_of({name: busy[name] for name in waiting}, ends(controller, work), time.time())
    return Prepared(_in_order(busy, progress), tuple(started), shares, lacking, since, price, packages)


def _find_work(
    controller: Controller,
    runner: DeployRunner,
    progress: dict[str, Progress],
    started: Collection[str],
    options: MaintenanceOptions,
) -> Mapping[str, Newer]:
    """Keep a node `waiting` only if it has work to do or an earlier run has begun it; return its newer packages."""
    waiting = [each for each in progress.values() if each.phase == "waiting"]
    if not waiting:
        return {}
    report = runner.plan([progress.node.name for progress in waiting])
    report.ensure_not_interrupted()
    last = boots(controller, [progress.node for progress in waiting])
    there = [each.node for each in waiting if last[each.node.name]]
    packages = newer(controller, there, options.packages) if options.packages else {}
    for each in waiting:
        name = each.node.name
        host, boot, found = report.hosts.get(name), last[name], packages.get(name, Newer())
        if name in started:
            each.why = "continues"
        elif host is None:
            each.phase, each.why = "left alone", "it is off"
        elif boot is None or (host.failure and not host.commands):
            each.phase, each.why = "left alone", host.failure or "it does not answer"
        elif found.error:
            each.phase, each.why = "left alone", found.error
        elif host.changes or found.raised:
            parts = [counted(len(host.changes), "change")] if host.changes else []
            each.why = ", ".join([*parts, *([found.brief] if found.raised else [])])
        elif why := (host.failure or "").partition(";")[0] or boot.needs or ("reboot" if options.reboot else ""):
            each.why = why
        else:
            each.phase = "nothing to do"
    return packages


def _in_order(busy: Mapping[str, Sequence[Job]], progress: dict[str, Progress]) -> dict[str, Progress]:
    """Return the nodes in the order in which their jobs end: a node with a long job would delay all others."""

    def end(left: Sequence[Job]) -> str:
        return max((job.ends or _NEVER for job in left), default="")

    return dict(sorted(progress.items(), key=lambda item: end(busy[item[0]])))
