"""A user's shell on a head node, as the demo prints it."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console

from gpupool.errors import GpupoolError
from tests.testbed.cluster import Testbed

PATIENCE = 300  # seconds for a step of the demo
out = Console(highlight=False)


@dataclass(frozen=True)
class Shell:
    """A user's shell on a head node, in /tmp, which each node has: some clusters have no homes on nodes."""

    testbed: Testbed
    head: str
    user: str

    def run(self, command: str, text: str = "") -> str:
        """Return the output of a command; GpupoolError with its error output if it fails."""
        done = self.testbed.run(self.head, f"cd /tmp; {command}", self.user, text)
        if done.returncode:
            raise GpupoolError(f"{self.user}@{self.head}: {command}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def type(self, command: str, text: str = "", says: str = "") -> None:
        """Print a command, with a few words about it, and its output."""
        out.print(f"[bold cyan]{self.user}@{self.head}$[/] ", end="")
        out.print(command + (f"   # {says}" if says else ""), markup=False, soft_wrap=True)
        out.print(self.run(command, text).rstrip(), markup=False, soft_wrap=True)

    def gpu_job(self) -> str:
        """Return the options of a short job with one GPU, in any partition where this user's jobs may have one."""
        cluster = self.testbed.cluster
        if "debug" in cluster.partitions:
            return "-p debug --gres=gpu:1"
        if cluster.scheduler.default_partition != "none":
            return "--gres=gpu:1"
        gpus = (name for name, partition in cluster.partitions.items() if cluster.nodes[partition.nodes[0]].gpus)
        return f"-p {next(gpus)} --gres=gpu:1"


def title(text: str) -> None:
    """Print the title of the next part."""
    out.print(f"\n[bold]{text}[/]")


def stopwatch() -> Callable[[str], None]:
    """Return a function that prints a line with the seconds since now before it."""
    began = time.monotonic()
    return lambda what: out.print(f"  {time.monotonic() - began:5.1f} s  {what}")


def until(true: Callable[[], bool], what: str) -> None:
    """Wait until it is true; GpupoolError if that takes too long."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > deadline:
            raise GpupoolError(f"not within {PATIENCE} s: {what}")
        time.sleep(1)
