"""The steps from an adopted cluster to gpupool's own policy: each group of `slurm.left` with its price."""

import copy
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gpupool.cluster.complaints import BadInventoryError, Located
from gpupool.cluster.load import Loaded, examine
from gpupool.cluster.model import Cluster
from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.slurm.gres import cgroup_conf, gres_conf
from gpupool.slurm.hostlists import fold_set
from gpupool.slurm.keys import effects

# slurm.conf(5), SelectType: all jobs are lost, because each plugin saves their state in its own format
_LOSES_JOBS = ("SelectType",)
_ROUNDS = 50  # each removes a key


@dataclass(frozen=True)
class Change:
    """A value of Slurm's files that a step changes: `of` are the nodes or the partition, "" for a setting."""

    key: str
    section: str
    of: str
    was: str
    would: str
    effect: str


@dataclass(frozen=True)
class Step:
    """A group of `slurm.left` that the site could leave to gpupool.

    `dropped` are the keys that have to go with the group, `refused` what `check` says even then.
    """

    group: str
    changes: tuple[Change, ...]
    dropped: tuple[str, ...]
    refused: tuple[Located, ...]

    @property
    def effect(self) -> str:
        """All effects as one, in the words of `effects.tsv`."""
        return effects.joined(change.effect for change in self.changes)

    @property
    def loses_jobs(self) -> bool:
        """Whether slurmctld would lose the jobs that it has, so that they must end first."""
        return any(change.key in _LOSES_JOBS for change in self.changes)


def steps(inventory: Path) -> tuple[Cluster, list[Step]]:
    """Return the cluster and the step of each group, in the order of `slurm.left`.

    BadInventoryError if `check` refuses the inventory as it is.
    """
    loaded = examine(inventory)
    cluster, data = loaded.cluster, loaded.data
    if cluster is None:
        raise BadInventoryError(loaded.errors)
    now = _texts(cluster)
    left = data.get("slurm", {}).get("left", ())
    with tempfile.TemporaryDirectory(prefix="gpupool-steps-") as folder:
        place = Path(folder) / "inventory"
        attached = shutil.ignore_patterns("*.yml", "*.csv", ".git", ".venv")
        if inventory.is_dir():
            shutil.copytree(inventory, place, ignore=attached)
        else:
            place.mkdir()
        return cluster, [_step(group, data, place, now, cluster.slurm.version) for group in left]


def _step(group: str, data: Mapping[str, Any], place: Path, now: Mapping[str, str], release: str) -> Step:
    without = copy.deepcopy(dict(data))
    without["slurm"]["left"] = [other for other in without["slurm"]["left"] if other != group]
    freed = []
    if group == "cgroups" and without.get("gpu", {}).pop("constrain_devices", True) is False:
        freed = ["gpu.constrain_devices"]  # a job without it opens the GPUs of others
    loaded, dropped = _accepted(without, place)
    dropped = [*freed, *dropped]
    if loaded.cluster is None:
        return Step(group, (), tuple(dropped), tuple(loaded.errors))
    then = _texts(loaded.cluster)
    return Step(group, tuple(_changes(now, then, release)), tuple(dropped), ())


def _accepted(data: dict[str, Any], place: Path) -> tuple[Loaded, list[str]]:
    """Remove keys in Slurm's own words that `check` refuses; return its last answer and these keys."""
    dropped: list[str] = []
    for _ in range(_ROUNDS):
        (place / "cluster.yml").write_text(yaml.safe_dump(data, allow_unicode=True, sort_keys=False), encoding="utf-8")
        loaded = examine(place)
        found = [key for located in loaded.errors if (key := _drop(data, located.complaint.path))]
        dropped += found
        if not found:
            break
    return loaded, dropped


def _drop(data: Any, path: Sequence[Any]) -> str:
    """Remove a key of `parameters` and return it with its place; "" if the path leads to none."""
    if "parameters" not in path[:-1]:
        return ""
    upper = path[: path.index("parameters") + 2]
    above = data
    for word in upper[:-1]:
        try:
            above = above[word]
        except (KeyError, IndexError, TypeError):
            return ""
    if not isinstance(above, dict) or upper[-1] not in above:
        return ""
    del above[upper[-1]]
    return ".".join(map(str, upper))


def _texts(cluster: Cluster) -> dict[str, str]:
    return {
        "slurm.conf": slurm_conf(cluster),
        "cgroup.conf": cgroup_conf(cluster),
        "gres.conf": gres_conf(cluster),
    }


def _changes(now: Mapping[str, str], then: Mapping[str, str], release: str) -> Iterator[Change]:
    for file, text in then.items():
        was, would = effects.read(file, now[file]), effects.read(file, text)
        alike: dict[tuple[str, str, str, str, str], list[str]] = {}
        for place, effect in effects.changed(file, now[file], text, release).items():
            key = file if place.section == "line" else place.key
            values = was.get(place, ""), would.get(place, "")
            alike.setdefault((place.section, key, *values, effect), []).append(place.of)
        for (section, key, before, after, effect), names in alike.items():
            yield Change(key, section, fold_set(name for name in names if name), before, after, effect)
