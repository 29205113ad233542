"""Images of nodes, named by a digest of their recipe; an image is built if it does not exist."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from gpupool import cache
from gpupool.distributions.slurm import schedmd
from gpupool.errors import TestbedError
from gpupool.testbed import apt, docker, host, recipe
from gpupool.testbed.parallel import parallel

CACHE_VOLUME = "gpupool-apt-cache"
BUILD_LABEL = "gpupool.build"  # of a container that builds an image or a disk; its value is locked by only_builder
BUILD_SHARES = 8192  # CPU shares of a build, as many as of eight nodes, because other work waits for the image
COMPONENTS = "main contrib non-free non-free-firmware"
BUILD_SECONDS = 7200.0  # an idle machine needs minutes; a slow build must not count as a hang
_PULL_SECONDS = 120.0

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Line:
    """Images of one kind: their name, and the shell texts that make the base image and the layers on it.

    `before` runs first and is not part of the name: it removes differences between plain Debian images. The base image
    is made from plain Debian, or from the base image of the line `on`. An image with all packages of one of the sets
    `shared` and others is made from the image with that set, so that common packages are installed once. All other
    images are made from the base image.
    """

    repository: str
    what: str
    base: Callable[[Mapping[str, str], Mapping[str, str]], str]
    layer: Callable[[Mapping[str, str], Collection[str]], str]
    before: str = ""
    on: "Line | None" = None
    shared: tuple[frozenset[str], ...] = ()


#: Munge and Slurm's commands: the distribution's, or SchedMD's.
_COMMANDS = (frozenset({"munge", "slurm-client"}), frozenset({"munge", *schedmd().packages["slurm commands"]}))
NODES = Line("gpupool/node", "base image", recipe.base, recipe.layer, shared=_COMMANDS)


def base_tag(suite: str, line: Line = NODES) -> str:
    """Return the name of the image for a node without additional packages."""
    # The name leaves out this machine's proxies, mirrors and certificates, which do not change an image's contents.
    below = base_tag(suite, line.on) if line.on else suite
    return f"{line.repository}:{suite}-{recipe.key(below, line.base({}, {}))}"


def layer_tag(suite: str, packages: Collection[str], line: Line = NODES) -> str:
    """Return the name of the image for a node with these packages."""
    if not packages:
        return base_tag(suite, line)
    below = layer_tag(suite, _below(packages, line), line)
    return f"{line.repository}:{suite}-{recipe.key(below, line.layer({}, packages))}"


def _below(packages: Collection[str], line: Line) -> frozenset[str]:
    """Return the packages of the image from which the image with these packages is made."""
    return next((shared for shared in line.shared if shared < frozenset(packages)), frozenset())


def ensure(suite: str, sets: Collection[frozenset[str]], tell: Tell, line: Line = NODES) -> dict[frozenset[str], str]:
    """Return an image for each set of packages; build missing images, a few at a time."""
    tags = {packages: layer_tag(suite, packages, line) for packages in sets}
    missing = [packages for packages, tag in tags.items() if not is_here(tag)]
    if missing:
        _ensure_base(suite, line, tell)
        # A shared image is built before the others, so that no thread waits for a lock of another thread.
        for shared in sorted({_below(packages, line) for packages in missing} - {frozenset()}, key=sorted):
            _ensure_layer(suite, shared, line, tell)
        # Larger images first: they take longest.
        layers = sorted((packages for packages in missing if packages), key=len, reverse=True)
        parallel(
            lambda packages: _ensure_layer(suite, packages, line, tell), layers, max(2, (os.cpu_count() or 2) // 2)
        )
    return tags


def _ensure_base(suite: str, line: Line, tell: Tell) -> None:
    tag = base_tag(suite, line)
    with only_builder(tag):
        if is_here(tag):
            return
        if line.on:
            _ensure_base(suite, line.on, tell)
        tell(f"{line.what}: Debian {suite}")
        origin = base_tag(suite, line.on) if line.on else debian(suite, tell)
        _build(origin, tag, line.before + line.base(host.proxies(), host.certificates()))


def _ensure_layer(suite: str, packages: frozenset[str], line: Line, tell: Tell) -> None:
    tag = layer_tag(suite, packages, line)
    with only_builder(tag):
        if is_here(tag):
            return
        tell(f"image with {_few(packages)}")
        _build(layer_tag(suite, _below(packages, line), line), tag, line.layer(host.proxies(), packages))


def _few(packages: Collection[str], shown: int = 3) -> str:
    names = sorted(packages)
    rest = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {rest} more" if rest > 0 else "")


def is_here(tag: str) -> bool:
    """Return whether docker has this image."""
    return docker.attempt(["image", "inspect", "--format", "{{.Id}}", tag]).returncode == 0


def _build(origin: str, tag: str, script: str) -> None:
    """Run a script in a container of an image, and commit the result as `tag` only if the script succeeds."""
    name = build_name(tag)
    docker.attempt(["rm", "--force", name])  # left by a build that was killed
    # The script comes from standard input, so that neither it nor a proxy's password stays in the image.
    start = ["run", "--interactive", "--name", name, "--hostname", name, "--network", "host"]
    start += ["--label", f"{BUILD_LABEL}={tag}", "--cpu-shares", str(BUILD_SHARES)]
    done = docker.attempt(
        [*start, "--volume", f"{CACHE_VOLUME}:/apt-cache", origin, "sh", "-s"], stdin=script, timeout=BUILD_SECONDS
    )
    try:
        if done.returncode:
            raise TestbedError(f"image {tag} could not be built: {_complaint(done)}")
        changes = ("CMD /lib/systemd/systemd", "LABEL gpupool.image=node", f"LABEL {BUILD_LABEL}=")
        docker.run(["commit", *(w for c in changes for w in ("--change", c)), name, tag], timeout=BUILD_SECONDS)
    finally:
        docker.attempt(["rm", "--force", name])


def build_name(tag: str) -> str:
    """Return the name of the container that builds an image or a disk."""
    return f"gpupool-build-{tag.rpartition('-')[2]}"


def _complaint(done: subprocess.CompletedProcess[str]) -> str:
    """Return apt's first error, which names the package, or else docker's."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("E: ")]
    return lines[0].removeprefix("E: ") if lines else docker.reason(done)


def debian(suite: str, tell: Tell) -> str:
    """Return an image of plain Debian: pulled from the registry if it answers, otherwise made from a mirror."""
    official = f"debian:{suite}"
    if is_here(official) or _is_pulled(official):
        return official
    made = f"gpupool/debian:{suite}"
    if not is_here(made):
        tell(f"no image registry answers: building Debian {suite} from a package mirror")
        _bootstrap(suite, made)
    return made


def _is_pulled(reference: str) -> bool:
    try:
        return docker.attempt(["pull", "--quiet", reference], timeout=_PULL_SECONDS).returncode == 0
    except TestbedError:
        return False


def _bootstrap(suite: str, tag: str) -> None:
    if not shutil.which("mmdebstrap") and (why := apt.install(["mmdebstrap", "debian-archive-keyring"])):
        raise TestbedError(
            f"debian:{suite} cannot be pulled, and mmdebstrap, which could build it, is not installed: {why}"
        )
    with tempfile.TemporaryDirectory(prefix="gpupool-") as folder:
        tree = Path(folder) / "tree.tar"
        command = ["mmdebstrap", "--variant=apt", f"--components={COMPONENTS}", *host.apt_options(), suite, str(tree)]
        sources = _sources(suite)
        code, errors = _until_done([*command, "-"] if sources else command, sources or "")
        if code:
            lines = [line.strip() for line in errors.splitlines() if line.strip().startswith("E:")] or [
                "no reason given"
            ]
            raise TestbedError(f"cannot download Debian {suite}: {lines[0].removeprefix('E:').strip()}")
        docker.run(["import", str(tree), tag], timeout=BUILD_SECONDS)


def _until_done(command: list[str], stdin: str) -> tuple[int, str]:
    """Return a command's exit code and standard error; after Ctrl-C, mmdebstrap has 30 s to remove its tree."""
    env = {**os.environ, **host.proxies()}
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, stdin=pipe, stdout=nowhere, stderr=pipe, text=True, env=env) as process:
        try:
            _, errors = process.communicate(stdin)
        except KeyboardInterrupt:
            process.wait(timeout=30)
            raise
        return process.returncode, errors


def _sources(suite: str) -> str | None:
    """Return apt's sources if this machine uses a private mirror, None for Debian's archive.

    mmdebstrap itself knows Debian's archive, with the security updates.
    """
    mirror = host.mirror()
    if mirror is None or mirror.split("//")[-1].split("/")[0].endswith(".debian.org"):
        return None
    return f"deb {mirror} {suite} {COMPONENTS}\n"


@contextmanager
def only_builder(tag: str, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock for building this image, across threads and processes; it ends with the process.

    Without `wait`, BlockingIOError if the lock is held.
    """
    with (cache.folder() / f"{tag.replace('/', '-').replace(':', '-')}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield


def remove_abandoned() -> list[str]:
    """Remove containers of builds that were killed, and return their names."""
    gone = []
    form = '{{.Names}} {{.Label "' + BUILD_LABEL + '"}}'
    for line in docker.run(["ps", "--all", "--filter", f"label={BUILD_LABEL}", "--format", form]).splitlines():
        name, _, tag = line.partition(" ")
        if name != build_name(tag):  # a container of a built image inherits the label of its build
            continue
        with suppress(BlockingIOError), only_builder(tag, wait=False):
            docker.attempt(["rm", "--force", "--volumes", name])
            gone.append(name)
    return gone
