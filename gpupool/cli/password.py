"""`gpupool password`: a user's first password, created on the nodes and shown once."""

from typing import Annotated

import typer

from gpupool.cli.running import announced_runner, chosen, exit_if_failed
from gpupool.cli.screen import Inventory, Limit, OnOption, stderr
from gpupool.terminal import styled

User = Annotated[
    str, typer.Argument(help="A user with `first_password: must_change`.", metavar="USER", show_default=False)
]
Reset = Annotated[bool, typer.Option("--reset", help="Also replace a password that the user has set.")]


def command(inventory: Inventory, user: User, reset: Reset = False, limit: Limit = None, on: OnOption = "auto") -> None:
    """Set a random Unix password for a user where users log in without a job, and print it once.

    Exit code 1 if a node failed, or if the user already has a password.

    Changes: /etc/shadow on these nodes.

    Examples:
      gpupool password my-site u-vision1
      gpupool password my-site u-vision1 --reset
    """
    from gpupool.run.password import create_password, ensure_first_password

    runner = announced_runner(inventory, on, "password")
    ensure_first_password(runner.target.cluster, user)
    done = create_password(runner, user, chosen(runner.target, limit), reset=reset)
    if done.given:
        print(done.password)
        stderr.print(f"{user} has to change it at the first login on {', '.join(done.given)}. It is shown only now.")
    if done.kept:
        stderr.print(f"{', '.join(done.kept)}: {user} has a password; --reset replaces it", style="yellow")
    for name, why in done.report.failures.items():
        stderr.print(styled((name, "red"), ": ", why))
    exit_if_failed(done.report)
    if done.kept and not done.given:
        raise SystemExit(1)
