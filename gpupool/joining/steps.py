"""What joining and leaving share: runs on few nodes, how many commands each was sent, and the pinned host keys."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpupool.engine.progress import Progress
from gpupool.engine.report import NodeHost, Report
from gpupool.errors import GpupoolError
from gpupool.facts.hardware import Machine
from gpupool.target import Target
from gpupool.terminal import Screen
from gpupool.testbed.overlay import moved
from gpupool.upkeep.state import Job

SITE = Path(__file__).parent.parent / "deploys" / "site.py"


@dataclass
class Commands:
    """How many commands each node was sent, in all runs together."""

    sent: dict[str, int] = field(default_factory=dict)

    def add(self, report: Report) -> None:
        """Count a run's."""
        for name, host in report.hosts.items():
            self.sent[name] = self.sent.get(name, 0) + host.commands


def deploy(target: Target, names: Collection[str], progress: Progress, commands: Commands) -> None:
    """Make these nodes match the target's inventory; GpupoolError with each that failed."""
    # pyinfra is slow to import: only commands that need nodes wait for it
    from gpupool.engine.drive import run

    report = run(target.hosts, SITE, execute=True, progress=progress, limit=set(names))
    commands.add(report)
    ensure_done(report)


def ensure_done(report: Report) -> None:
    """Raise what a run ended with: Ctrl-C's KeyboardInterrupt, or a GpupoolError with each node that failed."""
    if report.interrupted:
        raise KeyboardInterrupt
    if report.failures:
        raise GpupoolError("\n".join(f"{name}: {why}" for name, why in report.failures.items()))


def probe(target: Target, addresses: Mapping[str, str], progress: Progress, commands: Commands) -> dict[str, Machine]:
    """Return what machines are made of, known to the inventory or not; GpupoolError with each that is silent."""
    from gpupool.engine.drive import run
    from gpupool.facts.hardware import Hardware
    from gpupool.operations.ambient import this_host

    seen: dict[str, Machine | None] = {}

    def look() -> None:
        seen[this_host().name] = this_host().get_fact(Hardware)

    hosts = [NodeHost(name, (), {**target.ssh, "ssh_hostname": it}) for name, it in addresses.items()]
    report = run(hosts, look, execute=False, progress=progress)
    commands.add(report)
    ensure_done(report)
    if silent := [name for name in addresses if seen.get(name) is None]:
        raise GpupoolError(f"{', '.join(silent)}: cannot read the hardware: no answer in time")
    return {name: machine for name, machine in seen.items() if machine is not None}


def reached_at(target: Target, own: str, address: str) -> str:
    """Return where a machine of the inventory's `own` network is reached: a testbed may have another one."""
    network = target.cluster.entry.network
    return address if target.testbed is None or network == own else moved(address, own, network)


def telling(screen: Screen) -> Callable[[Mapping[str, tuple[Job, ...]]], None]:
    """Return what says how many jobs are waited for, when their number changes."""
    told: dict[str, int] = {}

    def tell(left: Mapping[str, tuple[Job, ...]]) -> None:
        for name, jobs in left.items():
            if told.get(name) != len(jobs):
                screen.print(f"{name}: waiting for {len(jobs)} running jobs", style="dim")
                told[name] = len(jobs)

    return tell


def port(target: Target) -> int:
    """Return the port of sshd."""
    return int(target.ssh.get("ssh_port") or 22)


def known_hosts(target: Target) -> Path:
    """Return the file that host keys are pinned in: the testbed's own, or the admin's."""
    return Path(target.ssh.get("ssh_known_hosts_file") or "~/.ssh/known_hosts").expanduser()
