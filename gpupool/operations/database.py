"""A MariaDB database whose user needs no password: the server gets the user of the Unix socket from the kernel."""

import re

from gpupool.change import ABSENT, PRESENT, Aspect, Kind
from gpupool.facts.database import SocketDatabase
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.work import Work

_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")


@operation
def socket_user(database: str, owner: str) -> Commands:
    """Have a database, and a user of it with the plugin unix_socket; neither is ever dropped."""
    if wrong := [name for name in (database, owner) if not _NAME.fullmatch(name)]:
        raise Refused(f"{wrong[0]!r} is not a valid name for a database or its user")
    state = look(SocketDatabase, "MariaDB's databases and users", database=database, owner=owner)
    who = f"'{owner}'@'localhost'"
    work = Work(Kind.ACCOUNTING)
    statements: list[str] = []

    def execute(item: str, sql: str, wanted: str = PRESENT, actual: str = ABSENT) -> None:
        statements.append(sql)
        work.differs(item, Aspect(wanted, actual, note=sql))

    if not state.database:
        execute(f"database {database}", f"create database if not exists {database}")
    if not state.plugin:
        execute(f"user {owner}", f"create user if not exists {who} identified via unix_socket")
    elif state.plugin != "unix_socket":
        sql = f"alter user {who} identified via unix_socket"
        execute(f"user {owner}", sql, "identified via unix_socket", f"identified via {state.plugin}")
    if not state.granted:
        execute(f"privileges of {owner}", f"grant all on {database}.* to {who}")
    work.run("mariadb", "-e", "; ".join(statements))
    yield from work.carry_out(f"database {database}: as wanted")
