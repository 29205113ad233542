"""Load an inventory: its text becomes a Cluster, or all complaints about it."""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpupool.cluster import checks
from gpupool.cluster.accepted import marked
from gpupool.cluster.attachments import attachments
from gpupool.cluster.build import build
from gpupool.cluster.change import merge
from gpupool.cluster.complaints import BadInventoryError, Complaint, Located, Place, locate
from gpupool.cluster.complaints import Path as Step
from gpupool.cluster.lab_files import FOLDER, add_users
from gpupool.cluster.model import Cluster
from gpupool.cluster.node_table import expand_all
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.shape import validated, without
from gpupool.cluster.text import files_of, read


@dataclass(frozen=True)
class Loaded:
    """The result of loading an inventory: a Cluster unless there are errors, and all complaints.

    With a Cluster, also the Site from which it was built, the line of each key, and the `data` as written. `partial` is
    true if some checks could not run.
    """

    cluster: Cluster | None
    complaints: list[Located]
    site: Site | None = None
    places: Mapping[Step, Place] = field(default_factory=dict)
    partial: bool = False
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def errors(self) -> list[Located]:
        """The complaints that prevent a Cluster."""
        return [located for located in self.complaints if located.complaint.severity == "error"]

    @property
    def open(self) -> list[Located]:
        """All complaints but the warnings that the inventory accepts."""
        return [located for located in self.complaints if located.complaint.accepted is None]


@contextmanager
def _uncollected() -> Iterator[None]:
    """Disable the garbage collector while an inventory grows: it would take half of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@_uncollected()
def examine(inventory: Path, change: Path | None = None, instead: Mapping[Path, str] | None = None) -> Loaded:
    """Read and check an inventory: a folder of YAML files, or one file. An invalid one raises no error.

    A `change`, YAML of the same shape, is merged into it first. `instead` has texts to read instead of files.
    """
    here = Place(str(inventory), 1)
    if not inventory.exists():
        return _refused(here, "there is no such file or folder", "`gpupool init NAME` creates an example inventory")
    text = read(inventory, instead)
    if not text.data and not text.located:
        return _refused(here, "no inventory here: no *.yml file with any content", "see `gpupool init`")
    if not text.located and "cluster" not in text.data and inventory.is_file() and _has_others(inventory):
        folder = inventory.parent.parent if inventory.parent.name == FOLDER else inventory.parent
        return _refused(here, "only a part of an inventory: `cluster` is missing", f"use its folder: {folder}")
    add_users(text, inventory, instead)
    if change is not None:
        text = merge(text, change)
    attached, unread = attachments(inventory)
    text.located += unread
    shape, complaints = validated(text.data)
    if text.located:
        # A missing top-level key may be in a file that cannot be read.
        complaints = [complaint for complaint in complaints if complaint.path[1:] or not complaint.missing]
        located = [*text.located, *locate([*complaints, *_names_apart(text.data, complaints)], text.places, here)]
        return Loaded(None, sorted(located, key=lambda one: (one.place.file, one.place.line)), partial=True)
    if shape is None:
        located = locate([*complaints, *_names_apart(text.data, complaints)], text.places, here)
        return Loaded(None, located, partial=True)
    node_table, complaints = expand_all(shape)
    site = Site(shape, node_table, attached)
    rules = checks.CHECKS if node_table.whole else checks.NAMES  # with missing nodes, sums would be wrong
    complaints += checks.complaints(site, rules)
    if node_table.whole:
        complaints = marked(complaints, shape.accepted_warnings, text.data)
    located = locate(complaints, text.places, here)
    loaded = Loaded(None, located, partial=not node_table.whole)
    return loaded if loaded.errors else Loaded(build(site), located, site, text.places, data=text.data)


def _names_apart(data: dict[str, Any], complaints: list[Complaint]) -> Iterator[Complaint]:
    """Yield complaints about names in an inventory with errors of shape, so that all come at once.

    Parts with complaints are left out; if the rest is then invalid, nothing is yielded. Sums and policies are not
    checked: for an incomplete inventory, they would all be wrong.
    """
    shape, _ = validated(without(data, [other.path for other in complaints]))
    if shape is None:
        return
    node_table, of_nodes = expand_all(shape)
    complained = {other.path[:2] for other in complaints}
    for complaint in (*of_nodes, *checks.complaints(Site(shape, node_table), checks.NAMES)):
        if complaint.path[:2] not in complained:
            yield complaint


def load(inventory: Path, change: Path | None = None) -> Cluster:
    """Return the Cluster of an inventory, with a change merged into it; BadInventoryError has all errors."""
    loaded = examine(inventory, change)
    if loaded.cluster is None:
        raise BadInventoryError(loaded.errors)
    return loaded.cluster


def _has_others(file: Path) -> bool:
    """Return whether a file is one of several of an inventory."""
    return file.parent.name == FOLDER or len(files_of(file.parent)) > 1


def _refused(place: Place, message: str, hint: str) -> Loaded:
    return Loaded(None, [Located(place, Complaint((), message, hint))])
