"""Steps of an onboarding: read the hardware of machines, find their addresses, and count the commands sent to nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpupool.engine.report import Report
from gpupool.errors import GpupoolError
from gpupool.facts.hardware import Machine
from gpupool.run.runner import DeployRunner
from gpupool.target import Target
from gpupool.testbed.overlay import moved


@dataclass
class Commands:
    """The number of commands sent to each node, in all runs together."""

    sent: dict[str, int] = field(default_factory=dict)

    def count(self, report: Report) -> Report:
        """Add the commands of a run, and return its report."""
        for name, host in report.hosts.items():
            self.sent[name] = self.sent.get(name, 0) + host.commands
        return report


def probe(
    runner: DeployRunner, addresses: Mapping[str, str], commands: Commands, disk: str = "/tmp"
) -> dict[str, Machine]:
    """Return the hardware of machines, in the inventory or not; `disk` is the path of the disk for jobs.

    GpupoolError with the machines that do not answer.
    """
    runner.load()
    from gpupool.facts.hardware import Hardware
    from gpupool.operations.ambient import this_host

    seen: dict[str, Machine | None] = {}

    def look() -> None:
        seen[this_host().name] = this_host().get_fact(Hardware, tmp=disk)

    commands.count(runner.look(addresses, look)).ensure_ok()
    if silent := [name for name in addresses if seen.get(name) is None]:
        raise GpupoolError(f"{', '.join(silent)}: cannot read the hardware: no answer in time")
    return {name: machine for name, machine in seen.items() if machine is not None}


def reached_at(target: Target, own: str, address: str) -> str:
    """Return a machine's address: in a testbed, `address` moved from the inventory's network `own` to its network."""
    network = target.cluster.entry.network
    return address if target.testbed is None or network == own else moved(address, own, network)
