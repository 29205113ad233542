"""`gpupool users`: print the entries of users that a CSV file has."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    people: Annotated[
        Path, typer.Argument(help="A CSV file; its first row has keys of a user: name,uid,account,…", metavar="CSV")
    ],
    account: Annotated[
        str | None, typer.Option("--account", help="Default account of users without one in the file.", metavar="NAME")
    ] = None,
) -> None:
    """Print `users` entries for the rows of a CSV file, to paste into an inventory.

    Lists have a semicolon between their items. Exit code 2 if a row is not a user.

    Changes: nothing.

    Examples:
      gpupool users people.csv
      gpupool users students.csv --account vision-lab
    """
    from gpupool.cluster.edit.nodes import flow
    from gpupool.cluster.people import users_of

    print("users:", *(f"  - {flow(user)}" for user in users_of(people, account)), sep="\n")
