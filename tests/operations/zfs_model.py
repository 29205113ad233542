"""A small model of zfs: datasets with properties, inheritance and quotas; it refuses the same commands as zfs."""

import shlex
from collections.abc import Collection
from dataclasses import dataclass, field

from gpupool.facts.zfs import DatasetsState, Use
from gpupool.facts.zfs_disks import Property
from gpupool.operations.zfs.datasets import GLANCE

INHERITED = {"compression": "on", "atime": "on", "recordsize": "131072"}
OWN = {"quota": "0", "refquota": "0", "reservation": "0"}


@dataclass
class Dataset:
    """One dataset: its own properties, its contents, and its users' quotas."""

    local: dict[str, str] = field(default_factory=dict)
    used: int = 0
    mounted: bool = True
    quotas: dict[str, int] = field(default_factory=dict)
    uses: dict[str, int] = field(default_factory=dict)


class Zfs:
    """One machine's datasets by name."""

    def __init__(self, datasets: dict[str, Dataset]) -> None:
        self.datasets = datasets

    def state(self, named: Collection[str]) -> DatasetsState:
        """Return the state as the fact reads it: all properties of the named datasets, and a few of the others."""
        found = DatasetsState({})
        for name, dataset in self.datasets.items():
            rows = {key: self._effective(name, key, default) for key, default in INHERITED.items()}
            rows |= {
                key: Property(dataset.local.get(key, value), "local" if key in dataset.local else "default")
                for key, value in OWN.items()
            }
            rows |= {key: Property(value, "local") for key, value in dataset.local.items() if ":" in key}
            rows["type"] = Property("filesystem", "-")
            rows["mounted"] = Property("yes" if dataset.mounted else "no", "-")
            rows["canmount"] = Property("on", "default")
            rows["mountpoint"] = Property(self._place(name), "default")
            rows["used"] = rows["referenced"] = Property(str(dataset.used), "-")
            found.datasets[name] = {key: row for key, row in rows.items() if name in named or key in GLANCE}
            found.places[self._place(name)] = "mounted" if dataset.mounted else ""
            found.users[name] = {
                uid: Use(dataset.uses.get(uid, 0), dataset.quotas.get(uid, 0))
                for uid in {*dataset.uses, *dataset.quotas}
            }
        return found

    def run(self, line: str) -> None:
        """Run one line of our script; an AssertionError is zfs's refusal."""
        zfs, verb, *words = shlex.split(line)
        assert zfs == "zfs", line
        name = words.pop()
        if verb == "create":
            assert name not in self.datasets
            assert words.pop(0) == "-p"
            assert "/" not in name or name.rpartition("/")[0] in self.datasets
            self.datasets[name] = Dataset(dict(word.split("=", 1) for word in words if word != "-o"))
            self.datasets[name].local.pop("mountpoint", None)
        elif verb == "mount":
            assert not self.datasets[name].mounted
            self.datasets[name].mounted = True
        elif verb == "inherit":
            (key,) = words
            assert key not in OWN
            self.datasets[name].local.pop(key, None)
        else:
            assert verb == "set"
            for word in words:
                self._set(self.datasets[name], *word.split("=", 1))

    def _set(self, dataset: Dataset, key: str, value: str) -> None:
        value = "0" if value == "none" else value
        if "@" in key:
            dataset.quotas[key.partition("@")[2]] = int(value)
            return
        assert key in INHERITED or key in OWN or ":" in key, key
        if key in ("quota", "refquota") and int(value):
            assert int(value) >= dataset.used, "size is less than current used or reserved space"
        dataset.local[key] = value

    def _effective(self, name: str, key: str, default: str) -> Property:
        above = name
        while above:
            local = self.datasets[above].local if above in self.datasets else {}
            if key in local:
                return Property(local[key], "local" if above == name else f"inherited from {above}")
            above = above.rpartition("/")[0]
        return Property(default, "default")

    def _place(self, name: str) -> str:
        return f"/{name}"
