"""A drill: restore the newest backups on a twin, start the daemons with them, and compare with the live cluster."""

import re
import shlex
import subprocess
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from gpupool.cluster.model import Cluster
from gpupool.errors import GpupoolError, TwinError
from gpupool.rehearsal.drill.compare import Restored, Row, parts, queue, rows
from gpupool.rehearsal.drill.fetch import LOOK_SECONDS, Fetched, newest, when
from gpupool.rehearsal.twin import Twin, boot, container, image
from gpupool.rehearsal.twin.compiled import compiled, of_version
from gpupool.rehearsal.twin.differences import applied
from gpupool.rehearsal.twin.differences.table import differences, place_of
from gpupool.remote.nodes import Nodes
from gpupool.shell import shell_file, values
from gpupool.slurm.releases import Known
from gpupool.target import Target
from gpupool.testbed import dockerd

Tell = Callable[[str], None]
_DATABASE = shell_file(__package__, "database.sh")
_QUEUE = "TZ=UTC squeue -a -h -t pending,running,suspended,completing -o '%F|%U|%a|%V'"
_SAVED = 10  # seconds within which slurmctld has saved a new job
_MOMENT = re.compile(rb"-- gpupool: cluster \S+, (.*), (\d+)\n")


def run(target: Target, backup: str, version: Known, tell: Tell) -> Restored:
    """Restore the newest backups on a twin with a version of Slurm, and return their comparison with the cluster."""
    cluster = of_version(target.cluster, version)
    with tempfile.TemporaryDirectory(prefix="gpupool-drill-") as name, Nodes.of(target) as nodes:
        folder = Path(name)
        tell("fetching the backups")
        database = newest(nodes, folder, cluster.database.name, "database", backup)
        state = newest(nodes, folder, cluster.controllers[0].name, "state")
        written, until = _head(database.path)
        with restored(cluster, database.path, state.path, tell) as twin:
            tell("comparing")
            table = list(_database(nodes, twin, cluster, until))
            started = twin.do("slurmdbd -V", "slurmdbd").out.split()[-1]
            tell("slurmctld with the state")
            twin.do(boot.controller(), "slurmctld with the state of the backup")
            table.append(_queue(nodes, twin, cluster, state))
    copies = [
        f"{backup.name}: {when(backup.made)}, {backup.size / 2**20:.1f} MiB, checksum correct"
        for backup in (database, state)
    ]
    return Restored(
        copies, f"slurmdbd and slurmctld {started} started with it (written by {written.split()[-1]})", table
    )


def _database(nodes: Nodes, twin: Twin, cluster: Cluster, until: int) -> Iterator[Row]:
    """Yield the comparison of the restored and the live database, for the time before the backup."""
    name = cluster.entry.name
    named = values(cluster=name, until=str(until), jobs="")
    last = parts(twin.do(f"{named}{_DATABASE}", "the restored database").out)["last"]
    script = f"{values(cluster=name, until=str(until), jobs=','.join(last))}{_DATABASE}"
    back = parts(twin.do(script, "the restored database").out)
    live = parts(nodes.output_on(cluster.database.name, "sh", "-c", script, seconds=LOOK_SECONDS))
    yield from rows(back, live)


def _queue(nodes: Nodes, twin: Twin, cluster: Cluster, state: Fetched) -> Row:
    """Return the comparison of the restored and the live slurmctld, for jobs submitted before the state was copied."""
    before = datetime.fromtimestamp(state.made - _SAVED, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    back = twin.do(_QUEUE, "the restored state").out.split()
    live = nodes.output_on(cluster.controllers[0].name, "sh", "-c", _QUEUE, seconds=LOOK_SECONDS).split()
    known = [line for line in live if line.rpartition("|")[2] < before]
    return queue(*(sorted({line.rpartition("|")[0] for line in lines}) for lines in (back, known)))


@contextmanager
def restored(cluster: Cluster, database: Path, state: Path | None, tell: Tell) -> Iterator[Twin]:
    """Yield a twin whose slurmdbd runs with a backup; slurmctld and the nodes are not started."""
    version = image.runnable(cluster.slurm.version)
    place = place_of(cluster, version)
    files = applied(compiled(cluster).files, differences(place))
    dockerd.ensure()
    container.remove_orphans()
    tag = image.ensure(version, tell)
    folder = cluster.slurm.state
    with Twin(cluster, version, container.run(tag, place, cluster.name, state=folder, keep=False)) as twin:
        tell("MariaDB on the twin")
        twin.do(boot.tree(cluster, files), "files")
        twin.do(boot.database(folder), "the database")
        tell("loading the database")
        put(twin, database, "gunzip | mariadb slurm_acct_db")
        if state is not None:
            put(twin, state, f"tar -xz -C {shlex.quote(folder)} && chown -R slurm:slurm {shlex.quote(folder)}")
        tell("slurmdbd with the database")
        twin.do(boot.slurmdbd(), "slurmdbd with the database of the backup")
        yield twin


def put(twin: Twin, file: Path, script: str) -> None:
    """Run a script in the twin with a file as its input; TwinError with its last line if it fails."""
    command = ["docker", "exec", "--interactive", twin.name, "bash", "-o", "pipefail", "-c", script]
    with file.open("rb") as source:
        done = subprocess.run(command, stdin=source, capture_output=True, check=False, start_new_session=True)
    if done.returncode:
        errors = done.stderr.decode(errors="replace").strip().splitlines()
        raise TwinError(f"{file.name} cannot be restored: {errors[-1] if errors else 'no reason was given'}")


def _head(path: Path) -> tuple[str, int]:
    """Return slurmdbd's version and the Unix time from the first line of a database backup."""
    with path.open("rb") as file:
        line = zlib.decompressobj(31).decompress(file.read(4096), 1000)
    match = _MOMENT.match(line)
    if match is None:
        raise GpupoolError(f"{path.name} is not a backup made by gpupool")
    return match[1].decode(), int(match[2])
