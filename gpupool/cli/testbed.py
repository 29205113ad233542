"""`gpupool testbed`: run the cluster of an inventory in containers on this machine."""

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpupool.cli import complete
from gpupool.cli.screen import Inventory, Json, ensure_confirmable, print_json, stderr
from gpupool.documents.testbed import DownDocument, StatusDocument
from gpupool.errors import GpupoolError, UsageError
from gpupool.terminal import Screen, styled
from gpupool.testbed import look, state
from gpupool.testbed.spec import Spec

if TYPE_CHECKING:
    from gpupool.testbed.loss import Loss

Tell = Callable[[str], None]
app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="The cluster in containers on this machine: up, down, status, ssh."
)

Name = Annotated[
    str | None, typer.Option(metavar="NAME", help="Name of the testbed, if an inventory has more than one.")
]
Prefix = Annotated[
    str, typer.Option(envvar="GPUPOOL_TESTBED_PREFIX", hidden=True, help="Prefix of the names in docker.")
]


def wanted(
    inventory: Path,
    *,
    name: str | None,
    prefix: str,
    network: str | None,
    vm: str | None = None,
    spares: Mapping[str, str] | None = None,
) -> tuple[Spec, dict[str, tuple[str, ...]]]:
    """Return the testbed of an inventory, and the mounts that its nodes cannot have.

    `vm` names the nodes that are virtual machines; None keeps the choice of an existing testbed. `spares` are addresses
    of nodes that are not in the inventory, besides those of an existing testbed.
    """
    # Imported here, because most commands of a testbed load no inventory, and the import is slow.
    from gpupool.cluster.load import load
    from gpupool.testbed import host, overlay
    from gpupool.testbed.spares import with_joined, with_spares
    from gpupool.testbed.vm import choice as vm_choice

    whole = load(inventory)
    stands = state.made_from(inventory, name=name or whole.name, prefix=prefix)
    before = stands[0].spares if stands else {}
    if known := [each for each in spares or () if each in whole.nodes and each not in before]:
        raise UsageError(f"--spare: {', '.join(known)}: already in the inventory (add it to testbed.nodes)")
    whole = with_joined(whole, before)
    if vm is None:
        machines = tuple(name for name in stands[0].machines if name in whole.testbed_nodes) if stands else ()
    else:
        machines = vm_choice.chosen(whole, vm)
    cluster = overlay.stand_in(whole, cgroup=host.host_cgroups(), network=network, machines=machines)
    spec = overlay.spec_of(cluster, name=name, prefix=prefix)
    spec = with_spares(spec, {**before, **(spares or {})}, whole.entry.network)
    return spec, vm_choice.left_out(whole, machines)


@app.command()
def up(
    inventory: Inventory,
    name: Name = None,
    network: Annotated[
        str | None,
        typer.Option(
            envvar="GPUPOOL_TESTBED_NETWORK",
            metavar="NETWORK",
            help="Network to use instead of the inventory's, such as 10.67.0.0/16.",
        ),
    ] = None,
    bare: Annotated[
        bool,
        typer.Option("--bare", help="Start nodes from plain Debian: apply installs every package, as on new machines."),
    ] = False,
    vm: Annotated[
        str | None,
        typer.Option(
            metavar="NODE,…",
            help="Nodes to start as virtual machines; '' for none; default: as before.",
            autocompletion=complete.nodes,
        ),
    ] = None,
    spare: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=ADDRESS",
            help="A machine that is not in the inventory, with plain Debian, for a trial of onboard; may be repeated.",
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask before recreating nodes, or taking another's testbed over.")
    ] = False,
    prefix: Prefix = "gpupool",
    as_json: Json = False,
) -> None:
    """Start the nodes of the testbed, and create missing ones. Can be repeated at any time.

    Asks before it recreates nodes, with all of their files, or takes over the testbed of another inventory.
    Nodes have no configuration until `gpupool apply`, which then uses the testbed.

    Changes: containers, networks and volumes of Docker on this machine.

    Examples:
      gpupool testbed up my-site
      gpupool testbed up my-site --bare
      gpupool testbed up my-site --spare new-01=10.71.10.9
    """
    from gpupool.joining.request import nodes_of
    from gpupool.testbed import lifecycle
    from gpupool.testbed.bare import bare as without_packages
    from gpupool.testbed.loss import losses

    if inventory.exists():
        state.note_tried(inventory)  # first, so that no command uses real nodes after a failed start
    spec, left_out = wanted(
        inventory, name=name, prefix=prefix, network=network, vm=vm, spares=nodes_of(spare) if spare else {}
    )
    if bare:
        spec = without_packages(spec)
    _ensure_agreed(losses(spec, inventory), spec, inventory, yes)
    screen = Screen(stderr=True)
    with _telling(screen) as tell:
        done = lifecycle.up(spec, inventory=inventory, tell=tell)
    if as_json:
        print_json(done.as_dict())
        return
    parts = {"created": done.created, "recreated": done.recreated, "started": done.started, "unchanged": done.kept}
    counts = ", ".join(f"{len(names)} {what}" for what, names in parts.items() if names)
    Screen().print(f"testbed {spec.name}: {len(spec.containers)} nodes are up after {done.seconds} s ({counts})")
    for node, paths in left_out.items():
        screen.print(
            f"warning: {node} does not get {', '.join(paths)}: containers and virtual machines cannot share storage"
        )
    for warning in done.warnings:
        screen.print(f"warning: {warning}")
    if done.recreated:
        screen.print(f"recreated, because the inventory changed: {', '.join(done.recreated)}")
    if done.orphans:
        screen.print(f"no longer in the inventory, but kept until `testbed down`: {', '.join(done.orphans)}")
    for node, units in done.failed_units.items():
        screen.print(f"warning: {node}: failed: {', '.join(units)}")


@app.command()
def down(inventory: Inventory, name: Name = None, prefix: Prefix = "gpupool", as_json: Json = False) -> None:
    """Remove the testbed: its nodes, network, storage and state. Does not ask.

    Afterwards `plan`, `apply` and others need --on to choose the nodes.

    Changes: containers, networks and volumes of Docker on this machine.

    Examples:
      gpupool testbed down my-site
    """
    from gpupool.testbed import lifecycle

    testbed = state.find(inventory, name=name, prefix=prefix)
    state.note_tried(inventory)  # the testbed may be older than such notes
    with _telling(Screen(stderr=True)) as tell:
        tell(f"removing {testbed.id}")
        removed = lifecycle.down(testbed.id)
    if as_json:
        print_json(DownDocument({"testbed": testbed.id, "removed": list(removed)}))
    else:
        Screen().print(f"removed testbed {testbed.name}: {len(testbed.nodes)} nodes, their network and storage")


@app.command()
def status(inventory: Inventory, name: Name = None, prefix: Prefix = "gpupool", as_json: Json = False) -> None:
    """Show the state of every node. Exit code 1 if a node is not ready.

    Changes: nothing.

    Examples:
      gpupool testbed status my-site
    """
    testbed = state.find(inventory, name=name, prefix=prefix)
    nodes = look.status(testbed.id)
    if as_json:
        print_json(
            StatusDocument(
                {"testbed": testbed.id, "network": testbed.network, "nodes": [node.as_dict() for node in nodes]}
            )
        )
    else:
        from rich.table import Table

        table = Table("node", "roles", "address", "container", "systemd", "ssh", title=f"testbed {testbed.name}")
        for node in nodes:
            failed = f" ({', '.join(node.failed_units)})" if node.failed_units else ""
            word = f"{node.container} (machine)" if node.machine else node.container
            cells = (node.name, ", ".join(node.roles), node.address, word, node.systemd + failed)
            table.add_row(*cells, "yes" if node.ssh else "no", style=None if node.ok else "red")
        Screen().print(table, soft_wrap=False)
    if not all(node.ok for node in nodes):
        raise typer.Exit(1)


@app.command(context_settings={"ignore_unknown_options": True})
def ssh(
    inventory: Inventory,
    node: Annotated[
        str, typer.Argument(help="The node's name in the inventory.", metavar="NODE", autocompletion=complete.node)
    ],
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND", help="Command to run on the node, after --; default: a shell."),
    ] = None,
    user: Annotated[str, typer.Option("--login", "-l", metavar="USER", help="User to log in as.")] = "root",
    name: Name = None,
    prefix: Prefix = "gpupool",
) -> None:
    """Log in to a node, or run one command there.

    Changes: nothing but what you type there.

    Examples:
      gpupool testbed ssh my-site a40-01
      gpupool testbed ssh my-site login1 -l u-vision1 -- squeue --me
    """
    testbed = state.find(inventory, name=name, prefix=prefix)
    line = look.ssh_command(testbed, node, user, command or ())
    os.execvp(line[0], line)


def _ensure_agreed(loss: "Loss", spec: Spec, inventory: Path, yes: bool) -> None:
    """Print the losses of an `up`, and ask for agreement unless `--yes` is given; GpupoolError without it."""
    if not loss:
        return
    if loss.inventory:
        folder = inventory.resolve().name
        beside = folder if folder != spec.name else f"{folder}-2"
        stderr.print(
            f"testbed {spec.name} is that of {loss.inventory}, which would lose it (for another testbed beside it: "
            f"gpupool testbed up {inventory} --name {beside})"
        )
    if loss.nodes:
        why = "their SSH key is not on this machine" if loss.keyless else "the inventory has changed"
        data = f", and the accounting database on {', '.join(loss.databases)}" if loss.databases else ""
        stderr.print(f"to be recreated, because {why}: {', '.join(loss.nodes)}; their jobs and files are lost{data}")
    ensure_confirmable(yes, "testbed up takes or recreates existing nodes")
    if not yes and not typer.confirm("Go on?", err=True):
        raise GpupoolError("nothing was changed")


def _telling(console: Screen) -> AbstractContextManager[Tell]:
    """Return the output for the steps of `up`: a line that is replaced on a terminal, plain lines elsewhere."""
    if console.is_terminal:
        return _Spinner(console)
    return nullcontext(lambda step: console.print(step))


class _Spinner(AbstractContextManager[Tell]):
    def __init__(self, console: Screen) -> None:
        self._status = console.status("testbed")

    def __enter__(self) -> Tell:
        self._status.start()
        return lambda step: self._status.update(styled(step))

    def __exit__(self, *_: object) -> None:
        self._status.stop()
