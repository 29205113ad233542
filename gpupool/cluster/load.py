"""Inventory text to a Cluster, or every complaint about it at once."""

from dataclasses import dataclass
from pathlib import Path

from gpupool.cluster import checks
from gpupool.cluster.build import build
from gpupool.cluster.census import count
from gpupool.cluster.checks.site import Site
from gpupool.cluster.complaints import BadInventoryError, Complaint, Located, Place, locate
from gpupool.cluster.model import Cluster
from gpupool.cluster.shape import shaped
from gpupool.cluster.text import read


@dataclass(frozen=True)
class Loaded:
    """What became of an inventory: a Cluster unless there are errors, and everything to say about it."""

    cluster: Cluster | None
    complaints: list[Located]

    @property
    def errors(self) -> list[Located]:
        """Those that keep a Cluster from being."""
        return [it for it in self.complaints if it.complaint.severity == "error"]


def examine(inventory: Path) -> Loaded:
    """Read and check an inventory: a folder of YAML files, or one file. Raises nothing for a bad one."""
    here = Place(str(inventory), 1)
    if not inventory.exists():
        return _refused(here, "there is no such file or folder", "`gpupool init NAME` writes a first inventory")
    text = read(inventory)
    if text.located:
        return Loaded(None, sorted(text.located, key=lambda it: (it.place.file, it.place.line)))
    if not text.data:
        return _refused(here, "no inventory here: no *.yml file says anything", "see `gpupool init`")
    shape, complaints = shaped(text.data)
    if shape is None:
        return Loaded(None, locate(complaints, text.places, here))
    census, complaints = count(shape)
    site = Site(shape, census)
    located = locate(complaints + checks.complaints(site), text.places, here)
    loaded = Loaded(None, located)
    return loaded if loaded.errors else Loaded(build(site), located)


def load(inventory: Path) -> Cluster:
    """Give the Cluster of an inventory; BadInventoryError with every error where there is none."""
    loaded = examine(inventory)
    if loaded.cluster is None:
        raise BadInventoryError(loaded.errors)
    return loaded.cluster


def _refused(place: Place, words: str, hint: str) -> Loaded:
    return Loaded(None, [Located(place, Complaint((), words, hint))])
