"""The commands of `gpupool`. A command's module is imported when the command runs or its arguments are completed."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from gpupool import __version__
from gpupool.cli.default_inventory import completed
from gpupool.cli.help import hide_types, unwrapped

#: The first paragraph of each command's help, so that `gpupool --help` imports no command.
COMMANDS: Mapping[str, str] = {
    "check": "Report every problem in an inventory. Exit code 2 if it has errors.",
    "explain": "Show the effective settings of a node, partition, account, user or QoS, with the inventory line that "
    "sets each.",
    "render": "Print all files that gpupool would write, Slurm's first, and the accounting entities.",
    "plan": "Show what apply would change, with diffs and effects. Exit code 3: changes, 1: a node failed.",
    "apply": "Make the nodes match the inventory. A node that fails does not stop the others. Exit code 1 if a node "
    "failed.",
    "verify": "Check the live nodes against the inventory. Exit code 1 if a check fails.",
    "drift": "Show how live nodes differ from the inventory. Exit code 3: a difference, 1: no answer.",
    "log": "List all runs that changed nodes, also of maintain and upgrade: when, who, what.",
    "maintain": "Apply the inventory on nodes in service: drain, wait for jobs, change, reboot where needed, test, "
    "resume.",
    "upgrade": "Upgrade Slurm on all nodes to slurm.version, in Slurm's order, while jobs run; then apply and verify.",
    "rekey": "Replace the munge key on all nodes, while jobs run. Exit code 1 if a node did not get it.",
    "onboard": "Add machines to the cluster: compare, deploy and test them, and write them into the inventory.",
    "retire": "Remove nodes from the cluster: drain them, wait for their jobs, and take them out of Slurm and the "
    "inventory.",
    "rehearse": "Test in Docker, with real jobs, that each lab gets what the inventory grants. Exit code 1 if a "
    "promise is broken.",
    "password": "Set a random Unix password for a user where users log in without a job, and print it once.",
    "restore": "Restore a lost accounting database from a backup, or with --controller all that a lost controller had.",
    "init": "Create an example inventory that passes `check` and can be started as a testbed.",
    "adopt": "Write an inventory of a cluster that runs already, and show how its slurm.conf would differ.",
    "users": "Print `users` entries for the rows of a CSV file, to paste into an inventory.",
    "schema": "Print the JSON Schema of inventories, for the YAML support of editors; `init` writes it, too.",
    "testbed": "The cluster in containers on this machine: up, down, status, ssh.",
    "storage": "Disk usage of the cluster's storage.",
}


@cache
def imported(name: str) -> TyperCommand | TyperGroup:
    """Return the `command` of a command's module, or its `app` if it has subcommands."""
    module: Any = import_module(f"gpupool.cli.{name}")
    app = getattr(module, "app", None)
    if app is None:
        app = typer.Typer(add_completion=False)
        app.command(name)(module.command)
    command: Any = get_command(app)
    command.name = name
    _prepare(command)
    return command  # type: ignore[no-any-return]


_SETTINGS = {"help_option_names": ["--help", "-h"]}


def _prepare(command: Any) -> None:
    """Give a command and its subcommands the default inventory, readable help, and completion without pydantic."""
    parse = command.parse_args

    def parse_args(ctx: Any, args: list[str]) -> Any:
        parameters = command.get_params(ctx)
        hide_types(parameters)
        if not ctx.resilient_parsing:
            return parse(ctx, completed(command, ctx, args))
        # arguments of a line that is being completed stay text: typer would import pydantic to convert them
        for parameter in parameters:
            parameter.process_value = lambda ctx, value: value
        try:
            return parse(ctx, args)
        finally:
            for parameter in parameters:
                del parameter.process_value

    command.parse_args = parse_args
    command.help = unwrapped(command.help)
    # not only on `app`: a command keeps its option for help from its first use, which may be without a parent
    command.context_settings = {**command.context_settings, **_SETTINGS}
    for parameter in command.params:
        if parameter.name == "inventory":
            parameter.required = False  # `completed` gives it a value
    for below in getattr(command, "commands", {}).values():
        _prepare(below)


class _Commands(TyperGroup):
    """The group of all commands, which imports a command only when it is needed."""

    def __init__(self, **options: Any) -> None:
        commands = {name: TyperCommand(name, help=text) for name, text in COMMANDS.items()}
        super().__init__(**options)
        _prepare(self)
        self.commands.update(commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name of a command, the command and its arguments; typer's error for an unknown name."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, imported(name) if name and command else command, rest


_HELP = """One inventory of nodes, labs and storage becomes a running, pooled GPU cluster on Slurm.

A command without an inventory uses the current folder if it has cluster.yml or inventory.yml, else GPUPOOL_INVENTORY.

Examples:
  gpupool init my-site
  gpupool check my-site
  gpupool plan my-site
"""

app = typer.Typer(
    cls=_Commands,
    help=_HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=_SETTINGS,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"gpupool {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", "-V", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    pass
