"""`gpupool onboard`: add machines to the cluster as nodes."""

import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated

import typer

from gpupool.cli.edit import confirm, runner_and_original, show_draft, show_rest
from gpupool.cli.screen import Inventory, Json, OnOption, Verbose, print_json, stderr, stdout
from gpupool.cli.watch import Watch
from gpupool.documents.nodes import OnboardDocument
from gpupool.errors import GpupoolError
from gpupool.run.runner import DeployRunner

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
    typer.Option(
        "--hardware", metavar="NAME", help="Hardware of the nodes: an entry of `hardware`, or the name of a new one."
    ),
]
Gpus = Annotated[
    str | None,
    typer.Option(
        "--gpus", metavar="TYPE:COUNT,…", help="GPUs of each node; default: as on other nodes with this hardware."
    ),
]
Network = Annotated[
    str | None,
    typer.Option("--network", metavar="SPEED", help="Minimum speed of the link to fileservers: 10G or 1000M."),
]
Addresses = Annotated[
    list[str] | None,
    typer.Option(
        "--address",
        metavar="NETWORK=ADDRESS",
        help="Address in a network of cluster.networks, or a range for several nodes; may be repeated.",
    ),
]
Keys = Annotated[
    list[str] | None,
    typer.Option(
        "--host-key", metavar="SHA256:…", help="Fingerprint of a host key to accept without asking; may be repeated."
    ),
]
Replace = Annotated[
    bool,
    typer.Option(
        "--replace", help="Drain nodes of the inventory, wait for their jobs, then deploy and test their new hardware."
    ),
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
    address: Addresses = None,
    host_key: Keys = None,
    replace: Replace = False,
    yes: Yes = False,
    on: OnOption = "auto",
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Add machines to the cluster: compare, deploy and test them, and write them into the inventory.

    If one machine is refused, none joins, and the inventory stays as it is: exit code 1.

    Changes: the new machines, slurm.conf, and at the end the inventory.

    Examples:
      gpupool onboard my-site a40-02 10.71.10.2 --hardware big
      gpupool onboard my-site rtx-[03-06]=10.71.11.[3-6] --hardware small
    """
    DeployRunner.load()
    from gpupool.joining.compare import summary
    from gpupool.joining.decide import MachineOptions
    from gpupool.joining.network import least_of
    from gpupool.joining.onboard import Onboarding
    from gpupool.joining.prepare import prepare
    from gpupool.joining.request import gpus_of
    from gpupool.remote.controller import reach

    options = MachineOptions(hardware, gpus_of(gpus), least_of(network), addresses=tuple(address or ()))
    runner, original = runner_and_original(inventory, on, "onboard", verbose=verbose)
    with reach(runner.target) as controller:
        person = _AtTerminal(host_key or ())
        prepared = prepare(controller, runner, original, nodes, options, on=on, replace=replace, person=person)
    for name, machine in prepared.machines.items():
        stderr.print(f"{name}: {summary(machine)}")
    show_draft(prepared.draft)
    confirm(f"Add {', '.join(prepared.choices)} to the cluster, and update {', '.join(prepared.others)}?", yes)
    with reach(prepared.after) as controller:
        done = Onboarding(controller, runner, Watch(stderr), prepared).run()
    if as_json:
        print_json(OnboardDocument(joined=list(done.names), commands=dict(done.commands), later=dict(done.later)))
        return
    stdout.print(f"{', '.join(done.names)}: in service", style="bold green")
    show_rest(done.commands, done.later)


class _AtTerminal:
    """Asks the user at the terminal about fingerprints, except those `accepted` on the command line."""

    def __init__(self, accepted: Sequence[str]) -> None:
        self._accepted = accepted

    def accepts(self, keys: Mapping[str, Sequence[str]]) -> Collection[str]:
        """Show all fingerprints, ask about new ones, and return all accepted fingerprints."""
        for name, prints in keys.items():
            stderr.print(f"{name}: host key {' or '.join(prints)}")
        left = {name: prints for name, prints in keys.items() if not {*prints} & {*self._accepted}}
        if not left:
            return self._accepted
        if not sys.stdin.isatty():
            raise GpupoolError(
                f"{', '.join(left)}: the host key is new: compare it with the key on the machine, then add "
                f"--host-key {next(iter(left.values()))[0]}; nothing was changed"
            )
        agreed = typer.confirm(f"Are these the host keys of {', '.join(left)}?", err=True)
        return [*self._accepted, *(key for prints in left.values() for key in prints if agreed)]
