"""A unit of a testbed spoils a file of its own when it cannot be reloaded; run as spoiler.py INVENTORY NODE.

As slurmctld 24.11 does when it goes on after a reconfigure that failed: it writes a number with which it never starts.
"""

import sys
from pathlib import Path

from gpupool.engine.drive import Origin, run
from gpupool.operations import service
from gpupool.target import find_target

SPOIL = "echo 8 > /root/spoiler/number; echo cannot open it >&2; exit 1"


def deploy() -> None:
    """Start the unit, or reload it where its file has changed."""
    service.running(
        unit="spoiler", reload_if=["/root/spoiler/slurm.conf"], reload_command=["sh", "-c", SPOIL],
        enabled=None, slurm="24.11", own="/root/spoiler/number",
    )  # fmt: skip


if __name__ == "__main__":
    inventory, node = sys.argv[1:]
    target = find_target(Path(inventory), "testbed")
    origin = Origin("spoiler", target.cluster.name, "root")
    failures = run(target.hosts, deploy, execute=True, origin=origin, limit=[node]).failures
    sys.exit(f"{failures[node]}" if failures else 0)
