"""`gpupool onboard`: machines become nodes of the cluster."""

import difflib
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated

import typer

from gpupool.cli.screen import Inventory, Json, OnOption, print_json, stderr, stdout
from gpupool.cli.watch import Watch
from gpupool.cluster.edit.files import Draft
from gpupool.errors import GpupoolError
from gpupool.wording import counted

Words = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME ADDRESS | NAME=ADDRESS …",
        help="The new nodes; ranges are allowed: n[1-4]=10.0.0.[1-4].",
        show_default=False,
    ),
]
HardwareOption = Annotated[
    str | None,
    typer.Option("--hardware", help="Hardware of the nodes: an entry of `hardware`, or the name of a new one."),
]
Gpus = Annotated[
    str | None,
    typer.Option(
        "--gpus", metavar="TYPE:COUNT,…", help="GPUs of each node; default: as on other nodes with this hardware."
    ),
]
Network = Annotated[
    str | None,
    typer.Option("--network", metavar="SPEED", help="Slowest link to fileservers that is accepted: 10G or 1000M."),
]
Keys = Annotated[
    list[str] | None,
    typer.Option(
        "--host-key", metavar="SHA256:…", help="Fingerprint of a host key to accept without asking; may be repeated."
    ),
]
Replace = Annotated[
    bool,
    typer.Option("--replace", help="New hardware for nodes that are in the inventory."),
]
Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask before changing nodes; new host keys are still asked about.")
]


def command(
    inventory: Inventory,
    nodes: Words,
    hardware: HardwareOption = None,
    gpus: Gpus = None,
    network: Network = None,
    host_key: Keys = None,
    replace: Replace = False,
    yes: Yes = False,
    on: OnOption = "auto",
    as_json: Json = False,
) -> None:
    """Add machines to the cluster: compare, deploy and test them, and write them into the inventory.

    Exit code 1 if one is refused; then nothing of it stays in Slurm or in the inventory.
    """
    # facts are pyinfra's, which is slow to import
    from gpupool.joining import onboard
    from gpupool.joining.compare import summary
    from gpupool.joining.decide import Wish
    from gpupool.joining.network import least_of
    from gpupool.joining.prepare import prepare
    from gpupool.joining.request import gpus_of

    def agree(keys: Mapping[str, Sequence[str]]) -> Collection[str]:
        return _agreed(keys, host_key or ())

    wish = Wish(hardware, gpus_of(gpus), least_of(network))
    prepared = prepare(inventory, on, nodes, wish, replace=replace, agree=agree, screen=stderr)
    after, others = onboard.touched(prepared, on)
    stderr.print(f"target: {prepared.target.where}", style="dim")
    for name, machine in prepared.machines.items():
        stderr.print(f"{name}: {summary(machine)}")
    show(prepared.draft)
    names = ", ".join(prepared.choices)
    if not yes:
        confirm(f"Add {names} to the cluster, and update {', '.join(others)}?")
    done = onboard.onboard(prepared, after, others, Watch(stderr))
    if as_json:
        print_json({"joined": list(done.names), "commands": dict(done.commands), "later": dict(done.later)})
        return
    stdout.print(f"{', '.join(done.names)}: in service", style="bold green")
    tell_rest(done.commands, done.later)


def show(draft: Draft) -> None:
    """Show what changes in the inventory."""
    for file, text in draft.changed.items():
        old = draft.before[file].splitlines()
        for line in difflib.unified_diff(old, text.splitlines(), str(file), str(file), n=1, lineterm=""):
            stderr.print(line, style={"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim"))


def confirm(question: str) -> None:
    """Go on only if a person at the terminal says yes."""
    if not sys.stdin.isatty():
        raise GpupoolError("this changes nodes: use --yes, or run it in a terminal and confirm it; nothing was changed")
    if not typer.confirm(question, err=True):
        raise GpupoolError("nothing was changed")


def tell_rest(commands: Mapping[str, int], later: Mapping[str, int]) -> None:
    """Say which nodes were sent commands, and what other nodes learn by the next apply."""
    counts = ", ".join(f"{name} {count}" for name, count in commands.items())
    stdout.print(f"commands: {counts}; none to other nodes", style="dim")
    if later:
        files = ", ".join(f"{path} on {counted(count, 'node')}" for path, count in later.items())
        stdout.print(f"the next `gpupool apply` also changes {files}", style="dim")


def _agreed(keys: Mapping[str, Sequence[str]], accepted: Sequence[str]) -> Collection[str]:
    """Return the fingerprints that were given beforehand, and those that a person at the terminal agrees to."""
    for name, prints in keys.items():
        stderr.print(f"{name}: host key {' or '.join(prints)}")
    left = {name: prints for name, prints in keys.items() if not {*prints} & {*accepted}}
    if not left:
        return accepted
    if not sys.stdin.isatty():
        raise GpupoolError(
            f"{', '.join(left)}: the host key is new: compare it with the machine's own, then add "
            f"--host-key {next(iter(left.values()))[0]}; nothing was changed"
        )
    agreed = typer.confirm(f"Are these the host keys of {', '.join(left)}?", err=True)
    return [*accepted, *(it for prints in left.values() for it in prints if agreed)]
