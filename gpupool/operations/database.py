"""A MariaDB database whose user needs no password: the server asks the kernel who is at the unix socket."""

import re
import shlex
from collections.abc import Generator

from pyinfra.api.command import StringCommand
from pyinfra.api.operation import operation

from gpupool.facts.database import SocketDatabase
from gpupool.operations import diffs
from gpupool.operations.ambient import this_host
from gpupool.operations.refusal import refuse

_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")


@operation()
def socket_user(database: str, owner: str) -> Generator[StringCommand, None, None]:
    """Have a database, and a user of it who is known by the unix socket; neither is ever dropped."""
    if wrong := [name for name in (database, owner) if not _NAME.fullmatch(name)]:
        yield from refuse(f"{wrong[0]!r} is not a valid name for a database or its user")
        return
    state = this_host().get_fact(SocketDatabase, database=database, owner=owner)
    if state is None:
        yield from refuse("cannot read MariaDB's databases and users: no answer within 60 s")
        return
    who = f"'{owner}'@'localhost'"
    statements: dict[str, str] = {}
    if not state.database:
        statements[f"database {database}"] = f"create database if not exists {database}"
    if not state.plugin:
        statements[f"user {owner}"] = f"create user if not exists {who} identified via unix_socket"
    elif state.plugin != "unix_socket":
        statements[f"user {owner}"] = f"alter user {who} identified via unix_socket"
    if not state.granted:
        statements[f"privileges of {owner}"] = f"grant all on {database}.* to {who}"
    diffs.record({what: f"{sql}\n" for what, sql in statements.items()})
    if not statements:
        this_host().noop(f"database {database}: as wanted")
        return
    yield StringCommand("mariadb -e " + shlex.quote("; ".join(statements.values())))
