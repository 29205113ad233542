"""The first apply of the example: its steps on each node, kept in first-apply.yml, which `script/docs` rewrites."""

from collections.abc import Mapping
from pathlib import Path

import empty_nodes
import yaml

from gpupool.engine import hosts
from gpupool.engine.drive import Report, run
from gpupool.run.runner import SITE

KEPT = Path(__file__).parent / "first-apply.yml"
TARGETS = {"testbed": empty_nodes.testbed("example"), "machines": empty_nodes.machines()}


def steps(report: Report) -> dict[str, list[str]]:
    """Return, by node, the operations that changed something, in order."""
    return {
        name: list(dict.fromkeys(change.operation.partition(" | ")[0] for change in host.changes))
        for name, host in report.hosts.items()
    }


def kept(where: str) -> dict[str, list[str]]:
    """Return the kept steps of the `testbed`, or of the example's own `machines`."""
    read: Mapping[str, dict[str, list[str]]] = yaml.safe_load(KEPT.read_text())
    return read[where]


if __name__ == "__main__":
    hosts.PoolSSH = empty_nodes.EmptyNode  # type: ignore[assignment,misc]
    of = {where: steps(run(target.hosts, SITE, execute=False, origin=None)) for where, target in TARGETS.items()}
    KEPT.write_text("# Written by script/docs.\n" + yaml.safe_dump(of, sort_keys=False), encoding="utf-8")
