"""All commands under one name."""

import typer

from gpupool import __version__
from gpupool.cli import (
    apply,
    check,
    drift,
    explain,
    init,
    log,
    maintain,
    onboard,
    password,
    plan,
    rehearse,
    render,
    restore,
    retire,
    schema,
    storage,
    testbed,
    upgrade,
    verify,
)

app = typer.Typer(
    help="One inventory of nodes, labs and storage becomes a running, pooled GPU cluster on Slurm.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("check")(check.command)
app.command("explain")(explain.command)
app.command("render")(render.command)
app.command("plan")(plan.command)
app.command("apply")(apply.command)
app.command("verify")(verify.command)
app.command("drift")(drift.command)
app.command("log")(log.command)
app.command("maintain")(maintain.command)
app.command("upgrade")(upgrade.command)
app.command("onboard")(onboard.command)
app.command("retire")(retire.command)
app.command("rehearse")(rehearse.command)
app.command("password")(password.command)
app.command("restore")(restore.command)
app.add_typer(testbed.app, name="testbed", help="The cluster in containers on this machine: up, down, status, ssh.")
app.add_typer(storage.app, name="storage", help="Disk usage of the cluster's storage.")
app.command("init")(init.command)
app.command("schema")(schema.command)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"gpupool {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    pass
