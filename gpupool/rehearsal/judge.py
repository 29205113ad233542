"""A scratch slurmctld in a container without a network reads files of Slurm, and shows how it understands them."""

import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpupool.errors import TwinError
from gpupool.rehearsal.twin import container, image
from gpupool.rehearsal.twin.differences.table import Place
from gpupool.shell import shell_file, values
from gpupool.slurm.records import pairs
from gpupool.slurm.releases import Known
from gpupool.testbed import docker, dockerd

#: The host name and the address of the scratch slurmctld, which SlurmctldHost must name (RFC 5737).
HOST, ADDRESS = "judge", "192.0.2.1"
_SECONDS = 300.0


@dataclass(frozen=True)
class Reading:
    """The values that slurmctld shows of files, by key in lower case: of settings, cgroup.conf, nodes and partitions.

    `refused` has slurmctld's reason if it does not start with the files; then all others are empty.
    """

    version: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    cgroup: Mapping[str, str] = field(default_factory=dict)
    nodes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    partitions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    refused: str = ""


def judge(
    version: Known,
    now: Mapping[str, str],
    new: Mapping[str, str],
    names: Iterable[str],
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[Reading, Reading]:
    """Return how slurmctld of a release understands two sets of files of /etc/slurm, by name.

    `names` are host names in the files; all become names of the container. UsageError if no image has the release,
    TestbedError without Docker, TwinError if the container fails.
    """
    runs = image.runnable(version)
    dockerd.ensure()
    container.remove_orphans()
    tag = image.ensure(runs, tell)
    name = container.run(tag, Place(HOST, {}, runs), HOST, state="/var/spool/slurmctld", keep=False)
    try:
        _copy(name, {"now": now, "new": new})
        script = values(names=" ".join(dict.fromkeys(names))) + shell_file(__package__, "judge.sh")
        done = docker.attempt(["exec", "--interactive", name, "sh", "-s"], stdin=script, timeout=_SECONDS)
        if done.returncode:
            raise TwinError(f"the scratch slurmctld failed: {docker.reason(done)}")
        parts = {part.partition("\n")[0]: part.partition("\n")[2] for part in re.split(r"(?m)^== ", done.stdout)[1:]}
        return reading(parts["now"]), reading(parts["new"])
    finally:
        container.remove(name)


def reading(text: str) -> Reading:
    """Return what a slurmctld has shown, from the output of judge.sh for a folder."""
    if text.startswith("refused"):
        reasons = text.splitlines()[1:]
        fatal = [line.removeprefix("fatal: ") for line in reasons if line.startswith("fatal: ")]
        fatal = [line for line in fatal if "Unable to process configuration file" not in line]  # an error says why
        errors = [line.removeprefix("error: ") for line in reasons if line.startswith("error: ")]
        return Reading(refused=(fatal or errors or ["it gave no reason"])[-1])
    shown = {part.partition("\n")[0]: part.partition("\n")[2] for part in re.split(r"(?m)^-- ", text)[1:]}
    config, _, rest = shown["config"].partition("\nCgroup Support Configuration:")
    cgroup, _, others = rest.partition("\n\n")
    settings = _settings(f"{config}\n{others}")
    return Reading(
        settings.pop("slurm_version", ""),
        settings,
        _settings(cgroup),
        _lines(shown["node"], "nodename"),
        _lines(shown["partition"], "partitionname"),
    )


def _settings(text: str) -> dict[str, str]:
    """Return `KEY = VALUE` of each line; the values of KEY[0], KEY[1] and so on are one, with blanks between."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        key, sign, value = line.partition("=")
        if sign and key.strip():
            found.setdefault(key.strip().partition("[")[0].lower(), []).append(_bare(value))
    return {key: " ".join(of) for key, of in found.items()}


def _lines(text: str, head: str) -> dict[str, dict[str, str]]:
    found = [{key.lower(): _bare(value) for key, value in pairs(line).items()} for line in text.splitlines()]
    return {of[head]: of for of in found if head in of}


def _bare(value: str) -> str:
    word = value.strip()
    return "" if word in ("(null)", "N/A", "None") else word


def _copy(name: str, folders: Mapping[str, Mapping[str, str]]) -> None:
    """Copy the files of each folder to /judge in a container."""
    with tempfile.TemporaryDirectory(prefix="gpupool-judge-") as place:
        for folder, files in folders.items():
            for file, text in files.items():
                path = Path(place) / folder / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        docker.run(["cp", f"{place}/.", f"{name}:/judge"])
