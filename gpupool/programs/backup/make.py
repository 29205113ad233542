"""Make a backup: a consistent dump of the database, or an archive of slurmctld's state."""

import os
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, cast

from gpupool.node import commands

from .places import Backup, Failed, Writing, backups

DATABASE = "slurm_acct_db"
_END = b"-- Dump completed"
#: slurmctld writes its whole state every 300 s (PERIODIC_CHECKPOINT in its source), and changes within 5 s.
_FIRST_SAVE = 330
_DUMP = (
    *("mariadb-dump", "--single-transaction", "--quick", "--routines", "--hex-blob"),
    *("--default-character-set=utf8mb4", DATABASE),
)
_SIZE = f"select coalesce(sum(data_length), 0) from information_schema.tables where table_schema = '{DATABASE}'"


def database(folder: Path, cluster: str, dump: tuple[str, ...] = _DUMP) -> Backup:
    """Back up the database as of one moment; jobs continue meanwhile."""
    # MariaDB's size is an upper limit of an uncompressed dump, which compresses to about a tenth
    size = int(_output_of(["mariadb", "-N", "-e", _SIZE]) or 0)
    if not size:
        raise Failed(f"MariaDB has no database {DATABASE}, or it is empty")
    version = _output_of(["slurmdbd", "-V"])
    now = time.time()
    with Writing(folder, "database", now, _expected(folder, "database", size // 4)) as file:
        file.write(f"-- gpupool: cluster {cluster}, {version}, {now:.0f}\n".encode())
        with subprocess.Popen(dump, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout
            assert process.stderr
            end = b""
            try:
                while block := process.stdout.read(1 << 20):
                    file.write(block)
                    end = (end + block)[-200:]
            except BaseException:
                process.kill()
                raise
            stderr = process.stderr.read().decode(errors="replace").strip()
        if process.returncode or _END not in end:
            why = stderr.splitlines()[-1] if stderr else "its output ends too early"
            raise Failed(f"mariadb-dump: {why}")
        return file.finish()


def state(folder: Path, state: Path) -> Backup:
    """Back up slurmctld's state. slurmctld replaces whole files, so each is consistent; removed ones are left out.

    A slurmctld that has just begun this state has not saved its jobs yet: the backup waits until it has.
    """
    jobs, wait = state / "job_state", _FIRST_SAVE
    while not jobs.exists():
        if not (state / "clustername").exists():
            raise Failed(f"{jobs} does not exist: slurmctld has never run with this state")
        if wait <= 0:
            raise Failed(f"{jobs} does not exist, and slurmctld has not saved it for {_FIRST_SAVE} s: does it run?")
        time.sleep(1)
        wait -= 1
    now = time.time()
    size = sum(_size(path) for path in _files(state))
    with Writing(folder, "state", now, _expected(folder, "state", size)) as file:
        # `w|`, without compression: Writing compresses
        with tarfile.open(fileobj=cast(IO[bytes], file), mode="w|", format=tarfile.PAX_FORMAT) as tar:
            for path in _files(state):
                with suppress(FileNotFoundError):
                    _add(tar, path, str(path.relative_to(state)))
        return file.finish()


def _files(state: Path) -> Iterator[Path]:
    """Yield the files of the state, jobs before their scripts: a job that ends in between needs no script."""
    yield state / "job_state"
    for top, folders, names in os.walk(state):
        folders.sort()
        for name in sorted(names):
            path = Path(top) / name
            # slurmctld is still writing NAME.new
            if path != state / "job_state" and path.suffix != ".new" and path.is_file() and not path.is_symlink():
                yield path


def _add(tar: tarfile.TarFile, path: Path, name: str) -> None:
    with path.open("rb") as source:
        # the size of the open file: slurmctld may just have renamed another file to this path
        entry = tar.gettarinfo(arcname=name, fileobj=source)
        tar.addfile(entry, source)


def _size(path: Path) -> int:
    with suppress(FileNotFoundError):
        return path.stat().st_size
    return 0


def _expected(folder: Path, kind: str, first: int) -> int:
    """Return the likely size of a backup in bytes: 1.5 times the last one; `first` if there is none."""
    last = backups(folder, kind)
    return last[0].size * 3 // 2 if last else first


def _output_of(command: list[str]) -> str:
    # the message has the program only: its arguments are a long database query
    try:
        result = commands.run(command, 60)
    except commands.CommandError as error:
        raise Failed(f"{command[0]}: {error.reason}") from None
    if result.code:
        raise Failed(f"{command[0]}: {result.reason}")
    return result.output.strip()
