"""The leftovers of a test run that was killed: found by their marks, and removed by the next run.

All of them are marked with a name of the tests: processes in their environment, containers, networks and volumes in a
label, testbeds in their state. Temporary files are in a folder whose name has the process of their run. Things made by
a demo or a person have other names and stay.
"""

import fcntl
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from gpupool import cache
from gpupool.errors import GpupoolError, TestbedError
from gpupool.rehearsal.twin import container as twin_container
from gpupool.testbed import docker, dockerd, image, lifecycle, spec, state
from gpupool.testbed.vm import image as vm_image

MARK = "GPUPOOL_TEST_RUN"  # in the environment of every process of a run: the prefix of its containers


def prefix() -> str:
    """Return the prefix of the names of the tests' containers."""
    return os.environ["GPUPOOL_TESTBED_PREFIX"]


@contextmanager
def only_run() -> Iterator[None]:
    """Hold the lock for tests in containers; a GpupoolError names another holder, unless that process is dead."""
    with (cache.folder() / f"tests-{prefix()}.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise GpupoolError(
                f"other tests are at work with containers called {prefix()}: process {lock.read().strip()}. Wait for "
                "them, end them, or set GPUPOOL_TESTBED_PREFIX and GPUPOOL_TWIN_PREFIX to other names"
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def new_temporary() -> Path:
    """Return a new folder for all temporary files of a run: its name is short, since sockets are in it."""
    folder = Path(tempfile.mkdtemp(prefix=f"{prefix()}.{os.getpid()}-", dir="/tmp"))
    folder.chmod(0o755)  # apt's own user must be able to enter it
    return folder


def remove_run(temporary: Path) -> None:
    """Remove the folder for temporary files of a run, and end the processes that still use it."""
    for _ in _end_processes(lambda environment: environment.get("TMPDIR") == str(temporary)):
        pass
    shutil.rmtree(temporary, ignore_errors=True)


def remove_local() -> list[str]:
    """Remove the processes and temporary files of dead runs, and return their names. Needs no lock."""
    return [*_processes_of_dead_runs(), *_folders()]


def remove(*, testbeds: bool = True) -> list[str]:
    """Remove the leftovers of dead runs, and return their names; `testbeds` that were kept on purpose may stay.

    The caller holds the lock of `only_run`.
    """
    gone = [*_marked_processes(), *remove_local()]
    if _docker_answers():
        gone += image.remove_abandoned()
        if testbeds:
            gone += [*_twins(), *_testbeds()]
    return gone


def remove_all() -> list[str]:
    """Remove everything that tests ever made, including caches: images, disks, packages."""
    gone = remove()
    if _docker_answers():
        gone += _images()
        for volume in (image.CACHE_VOLUME, vm_image.DISKS):
            if docker.attempt(["volume", "inspect", volume]).returncode == 0:
                done = docker.attempt(["volume", "rm", volume])
                gone.append(volume if done.returncode == 0 else f"{volume} stays: {docker.reason(done)}")
    for folder in (cache.folder() / "deployed-from-bare", Path("build")):
        if folder.is_dir():
            shutil.rmtree(folder)
            gone.append(str(folder))
    return gone


def _docker_answers() -> bool:
    try:
        dockerd.ensure(may_install=False)
    except GpupoolError:  # docker is missing or not permitted, so it has nothing of ours
        return False
    return True


def _is_ours(name: str) -> bool:
    return name == prefix() or name.startswith(f"{prefix()}-")


def _marked_processes() -> Iterator[str]:
    yield from _end_processes(lambda environment: environment.get(MARK) == prefix())


def _processes_of_dead_runs() -> Iterator[str]:
    yield from _end_processes(lambda environment: _is_of_a_dead_run(Path(environment.get("TMPDIR", "/"))))


def _end_processes(is_left: Callable[[Mapping[str, str]], bool]) -> Iterator[str]:
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            entries = (folder / "environ").read_text(errors="replace").split("\0")
            environment = dict(entry.split("=", 1) for entry in entries if "=" in entry)
            if int(folder.name) == os.getpid() or not is_left(environment):
                continue
            name = (folder / "comm").read_text().strip()
            os.kill(int(folder.name), signal.SIGKILL)
            yield f"process {folder.name} ({name})"


def _folders() -> Iterator[str]:
    for folder in Path("/tmp").glob(f"{prefix()}.*"):
        if _is_of_a_dead_run(folder):
            shutil.rmtree(folder, ignore_errors=True)
            yield str(folder)


def _is_of_a_dead_run(temporary: Path) -> bool:
    """Return whether this is the folder for temporary files of a run whose process has ended."""
    whose, _, rest = temporary.name.rpartition(".")
    owner = rest.partition("-")[0]
    return (temporary.parent, whose) == (Path("/tmp"), prefix()) and not Path("/proc", owner).exists()


def _twins() -> Iterator[str]:
    for whose in docker.labels(twin_container.LABEL):
        if whose == twin_container.prefix() or whose.startswith(f"{twin_container.prefix()}-"):
            for name in docker.labelled("container", f"{twin_container.LABEL}={whose}"):
                twin_container.remove(name)
                yield name


def _testbeds() -> Iterator[str]:
    known = {testbed.id: testbed.prefix for testbed in state.every()}
    names = {name for name, whose in known.items() if _is_ours(whose)}
    names |= {name for name in docker.labels(spec.LABEL) if _is_ours(name) and name not in known}
    for name in sorted(names):
        try:
            yield from lifecycle.down(name)
        except TestbedError as error:  # the run may not need it, and its tests will name it if they do
            yield f"not {name}: {error}"


def _images() -> Iterator[str]:
    form = "{{.Repository}}:{{.Tag}}"
    for tag in docker.run(["image", "ls", "--filter", "reference=gpupool/*", "--format", form]).split():
        done = docker.attempt(["image", "rm", tag])
        yield tag if done.returncode == 0 else f"{tag} stays: {docker.reason(done)}"
