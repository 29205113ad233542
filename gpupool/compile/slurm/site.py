"""The site's own plugins and programs for Slurm: files in the folder `slurm` of an inventory."""

from collections.abc import Iterator

from gpupool.cluster.attachments import SLURM
from gpupool.cluster.model import Cluster
from gpupool.compile.slurm.names import PROGRAMS
from gpupool.compile.template import fill
from gpupool.wanted import File

#: Directories from which slurmd runs several programs around a job, in the order of their names.
FOLDERS = {"prolog": f"{PROGRAMS}/prolog.d", "epilog": f"{PROGRAMS}/epilog.d"}
#: Directory of the site's programs, which are checked before they are installed (`operations.daemon_checks`).
PLACE = f"{PROGRAMS}/site"
_OURS = "00-gpupool"


def text(cluster: Cluster, name: str) -> str | None:
    """Return a file of the folder; None if the inventory has no file of that name."""
    return cluster.attached.get(f"{SLURM}/{name}")


def programs(cluster: Cluster, kind: str) -> dict[str, str]:
    """Return the site's prologs or epilogs by name: `prolog-scratch` is `scratch`."""
    start = f"{SLURM}/{kind}-"
    return {path.removeprefix(start): text for path, text in cluster.attached.items() if path.startswith(start)}


def runs(cluster: Cluster, kind: str, ours: str | None) -> str | None:
    """Return Prolog or Epilog of slurm.conf: our own program, or a directory if the site has programs, too."""
    return f"{FOLDERS[kind]}/*" if programs(cluster, kind) else ours


def files(cluster: Cluster) -> Iterator[File]:
    """Yield the site's files of Slurm's configuration, for a node that has it as files."""
    # Debian's own plugstack.conf includes files by a pattern, about which each command of Slurm complains.
    yield File(cluster.slurm.file("plugstack.conf"), text(cluster, "plugstack.conf") or "# no SPANK plugins\n")
    if topology := text(cluster, "topology.conf"):
        yield File(cluster.slurm.file("topology.conf"), topology)


def around_jobs(cluster: Cluster, ours: dict[str, str]) -> Iterator[File]:
    """Yield the site's programs, and the programs of both directories, which run them and name a program that fails.

    `ours` are the texts of our own prolog and epilog, if they are to run.
    """
    for kind, folder in FOLDERS.items():
        if own := programs(cluster, kind):
            if kind in ours:
                yield File(f"{folder}/{_OURS}", ours[kind], mode="0755")
            for name, program in own.items():
                path = f"{PLACE}/{kind}-{name}"
                yield File(path, program, mode="0755")
                text = fill("site_program", cluster=cluster, program=f"{kind}-{name}", kind=kind, path=path)
                yield File(f"{folder}/{name}", text, mode="0755")
