"""Restore the accounting database and slurmctld's queue from backups.

A database that has jobs is never deleted, only renamed; a queue is never replaced.
"""

import re
from typing import Any

from pyinfra.api.command import StringCommand
from pyinfra.context import ctx_state

from gpupool.change import Aspect, Change, Kind
from gpupool.facts.backups import RESTORED, Backups
from gpupool.facts.remains import Remains
from gpupool.facts.service import Unit
from gpupool.operations import diffs, remains
from gpupool.operations.ambient import executing, this_host
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.other_hosts import named
from gpupool.shell import shell_file, values
from gpupool.wanted import Heart

_NAME = re.compile(r"(database|state)-\d{8}T\d{6}Z\.(sql|tar)\.gz")
_PRELUDE = shell_file(__package__, "restore_database.sh")
_QUEUE = shell_file(__package__, "restore_queue.sh")


@operation
def database(program: str, backup: str = "", aside: bool = False) -> Commands:
    """Load the newest backup of the database, or the one named `backup`, and run slurmdbd with it.

    A database with jobs is refused, or with `aside` kept under another name. A damaged backup changes nothing.
    """
    state = look(Backups, "the backups and the database", program=program)
    path = _chosen(state.backups.get("database", ()), backup)
    if state.jobs is None:
        raise Refused("MariaDB does not answer: run gpupool apply, which installs and starts it")
    if state.jobs and not aside:
        if state.restored == path:
            this_host().noop(f"the database was restored from {path}")
            return
        raise Refused(
            f"the accounting database has {state.jobs} jobs, and nothing was changed: use --aside to keep it as "
            "slurm_acct_db_aside_TIME and replace it"
        )
    differs = Aspect("the backup", f"{state.jobs} jobs", note=f"{state.jobs} jobs now")
    diffs.record([Change(Kind.ACCOUNTING, f"accounting database from {path}", (differs,))])
    yield StringCommand(f"{values(file=path, jobs='' if aside else '0', mark=RESTORED)}{_PRELUDE}")


@operation
def read_again(after: str) -> Commands:
    """Restart slurmctld to read its accounts after the host `after` has restored the database; running jobs go on."""
    host, state = named(after) if executing() else None, ctx_state.get()
    failed: Any = state.failed_hosts if host is not None else ()
    if host in failed:
        raise Refused(f"slurmctld is left alone: {after} has failed")
    unit = look(Unit, "the state of slurmctld from systemd", unit="slurmctld.service", paths=[])
    if unit.active != "active":
        this_host().noop("slurmctld does not run here")
        return
    differs = Aspect("accounts of the backup", "former accounts", note="its accounts are those of the backup")
    diffs.record([Change(Kind.SERVICE, "slurmctld.service", (differs,), "restart")])
    yield StringCommand("systemctl restart slurmctld.service")


@operation
def queue(node: str, heart: Heart, backup: str = "") -> Commands:
    """Have a queue in slurmctld's state on this controller, and in the state the ClusterID of the database.

    Without a queue, that of the archive with the path `backup` is used, if any. slurmctld must be stopped: it would
    write its own state over this one, and does not start with another ClusterID.
    """
    here = look(Remains, "the state of slurmctld", **remains.arguments(heart, node))
    answers = {node: here, **remains.ask(heart, [heart.database] if heart.database != node else [])}
    file = "" if here.queue else backup
    number = remains.number_of(heart, answers)
    if not file and (not here.number or not number or here.number == number):
        this_host().noop("slurmctld has its queue, with the ClusterID of the database")
        return
    aspects = [Aspect("the backup", "no queue", note=f"from {file}")] if file else []
    if here.number and number and here.number != number:
        aspects.append(Aspect(f"ClusterID {number}", f"ClusterID {here.number}"))
    diffs.record([Change(Kind.OTHER, heart.state, tuple(aspects))])
    yield StringCommand(f"{values(file=file, state=heart.state, number=number)}{_QUEUE}")


def _chosen(paths: tuple[str, ...], name: str) -> str:
    """Return the path of the backup with this name, or of the newest if no name is given."""
    if name and not _NAME.fullmatch(name):
        raise Refused(f"{name!r} is not the name of a backup, such as database-20261123T023000Z.sql.gz")
    matching = [path for path in paths if not name or path.rpartition("/")[2] == name]
    if not matching:
        raise Refused(f"there is no backup {name} here" if name else "there is no backup of the database here")
    return matching[0]
