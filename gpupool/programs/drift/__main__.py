"""`python3 -m drift NODE SLURM_CONF FILE`: write metrics to FILE, and a line for each difference to the journal.

NODE is the name of this controller in the metrics. Exit code 1 if slurmctld does not answer, which is a metric, too.
"""

import sys
import time
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from gpupool.node import commands, files, service
from gpupool.node.commands import CommandError

from . import record, slurm
from .state import ARBITER, SlurmState, state_of

_SECONDS = 15  # time limit for each answer of slurmctld
_OF_FILES, _OF_SLURM = ("file", "link"), ("slurm", "state")


def asked(text: str) -> SlurmState:
    """Return slurmctld's present state, with this text of slurm.conf."""
    answers: list[str] = []
    for arguments in (("show", "config"), ("-a", "show", "partition"), ("show", "node")):
        try:
            result = commands.run(["scontrol", *arguments], _SECONDS)
        except CommandError as error:
            return SlurmState(text, trouble=error.reason)
        if result.code:
            return SlurmState(text, trouble=result.reason)
        answers.append(result.output)
    config, partition, node = answers
    return state_of(text, config, partition, node, arbiter=service.trouble(_status()))


def _status() -> str:
    """Return what systemd shows of the arbiter; "" if it does not answer."""
    try:
        return commands.run(["sh", "-c", service.question(ARBITER)], _SECONDS).output
    except CommandError:
        return ""


def metrics(node: str, nodes: Sequence[str], differences: Collection[tuple[str, str]], read: bool, now: float) -> str:
    """Return the metrics of a comparison that ended at `now`; `differences` are node and kind of each.

    `read` is whether slurmctld answered.
    """
    counts = Counter(differences)
    rows = [(node, kind) for kind in _OF_FILES]
    if read:
        rows += [(name, kind) for name in dict.fromkeys((node, *nodes)) for kind in _OF_SLURM]
    name = "gpupool_controller_drift"
    lines = [f"# HELP {name} Differences from the last apply that this controller sees.", f"# TYPE {name} gauge"]
    lines += [f'{name}{{node="{where}",kind="{kind}"}} {counts[where, kind]}' for where, kind in rows]
    lines += [
        f"# HELP {name}_read Whether slurmctld answered.",
        f"# TYPE {name}_read gauge",
        f"{name}_read {int(read)}",
    ]
    lines += [f"# HELP {name}_time_seconds When this was seen.", f"# TYPE {name}_time_seconds gauge"]
    return "\n".join([*lines, f"{name}_time_seconds {now:.0f}"]) + "\n"


def main(node: str, conf: str, file: str) -> int:
    """Compare once, print the differences and write the metrics."""
    state = asked(Path(conf).read_text(encoding="utf-8"))
    names = [name for kind, name in slurm.parsed(state.text) if kind == "node"]
    differences = []
    for kind, path, difference in record.changed():
        differences.append((node, kind))
        print(f"{path}: {difference}")
    if state.trouble:
        print(f"slurmctld does not answer: {state.trouble}", file=sys.stderr)
    else:
        for found in slurm.differences(node, state.text, state, {name: name for name in names}):
            differences.append((found.node, found.kind))
            print(f"{found.node}: {found.what}: slurm.conf {found.file}, live {found.live}")
    files.replace(Path(file), metrics(node, names, differences, not state.trouble, time.time()))
    return 1 if state.trouble else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
