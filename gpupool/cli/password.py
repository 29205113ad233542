"""`gpupool password`: a user's first password, created on the nodes and shown once."""

import secrets
from typing import Annotated

import typer

from gpupool.cli.running import announced_target, chosen, end_badly, origin
from gpupool.cli.screen import Inventory, Limit, OnOption, stderr
from gpupool.compile.system.access import entry
from gpupool.errors import UsageError
from gpupool.target import Target
from gpupool.terminal import styled

# without those that look like others
_SIGNS = "abcdefghjkmnpqrstuvwxyz23456789"

User = Annotated[str, typer.Argument(help="A user with `first_password: must_change`.", show_default=False)]
Reset = Annotated[bool, typer.Option("--reset", help="Replace a password that the user has set, too.")]


def command(inventory: Inventory, user: User, reset: Reset = False, limit: Limit = None, on: OnOption = "auto") -> None:
    """Create a user's first password, and print it once. Exit code 1 if a node failed, or if there is one."""
    target = announced_target(inventory, on)
    known = target.cluster.users.get(user)
    if known is None:
        raise UsageError(f"there is no user {user!r} in the inventory")
    if not known.first_password:
        raise UsageError(f"{user} has no first password in the inventory: set first_password: must_change")
    _give(target, user, new_password(), reset, _nodes(target, limit))


def new_password() -> str:
    """Return a password of 79 bits that can be read aloud."""
    return "-".join("".join(secrets.choice(_SIGNS) for _ in range(4)) for _ in range(4))


def _nodes(target: Target, limit: str | None) -> set[str]:
    """Return the nodes where users log in without a job."""
    names = {node.name for node in target.nodes if entry(target.cluster, node) == "all"}
    if limit is not None:
        names &= chosen(target, limit) or set()
    if not names:
        raise UsageError("no node where users may log in without a job")
    return names


def _give(target: Target, user: str, password: str, reset: bool, names: set[str]) -> None:
    # pyinfra is slow to import: only commands that need nodes wait for it
    from gpupool.engine.drive import run
    from gpupool.engine.progress import shown
    from gpupool.operations import passwords

    def deploy() -> None:
        passwords.first(name="First password", user=user, password=passwords.Secret(password), reset=reset)

    with shown(stderr) as progress:
        report = run(
            target.hosts, deploy, execute=True, progress=progress, limit=names, origin=origin(target, "password")
        )
    given = [name for name, host in report.hosts.items() if host.changes and name not in report.failures]
    kept = [name for name in report.hosts if name not in (*given, *report.failures)]
    if given:
        print(password)
        stderr.print(f"{user} has to change it at the first login on {', '.join(given)}. It is shown only now.")
    if kept:
        stderr.print(f"{', '.join(kept)}: {user} has a password; --reset replaces it", style="yellow")
    for name, why in report.failures.items():
        stderr.print(styled((name, "red"), ": ", why))
    end_badly(report)
    if kept and not given:
        raise SystemExit(1)
