"""Start or reload a unit of a testbed that spoils its own file when it cannot be reloaded: spoiler.py INVENTORY NODE.

slurmctld 24.11 does the same when it continues after a failed reconfigure: it writes a number with which it cannot
start.
"""

import sys
from pathlib import Path

from gpupool.engine.drive import Origin, run
from gpupool.operations import slurm_daemon
from gpupool.target import find_target

SPOIL = "echo 8 > /root/spoiler/number; echo cannot open it >&2; exit 1"


def deploy() -> None:
    """Start the unit, or reload it if its file has changed."""
    slurm_daemon.running(
        unit="spoiler", version="24.11", reload_if=["/root/spoiler/slurm.conf"], reload_command=["sh", "-c", SPOIL],
        state_file="/root/spoiler/number",
    )  # fmt: skip


if __name__ == "__main__":
    inventory, node = sys.argv[1:]
    target = find_target(Path(inventory), "testbed")
    origin = Origin("spoiler", target.cluster.name, "root")
    failures = run(target.hosts, deploy, execute=True, origin=origin, limit=[node]).failures
    sys.exit(f"{failures[node]}" if failures else 0)
