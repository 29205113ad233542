"""The losses of an `up`: nodes that are recreated with all of their files, or that were another inventory's testbed."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpupool.errors import TestbedError
from gpupool.testbed import dockerd, keys, look, orders
from gpupool.testbed import state as kept
from gpupool.testbed.spec import SHAPE_LABEL, Container, Spec


@dataclass(frozen=True)
class Loss:
    """The losses of an `up`; none if it only creates and starts nodes.

    `inventory` is the other inventory whose testbed these nodes are. `nodes` are recreated, `databases` are those of
    them with the accounting database. All are recreated if their SSH key is `keyless`: not on this machine.
    """

    inventory: str | None = None
    nodes: tuple[str, ...] = ()
    databases: tuple[str, ...] = ()
    keyless: bool = False

    def __bool__(self) -> bool:
        """Return whether something is lost."""
        return bool(self.inventory or self.nodes)


def losses(spec: Spec, inventory: Path) -> Loss:
    """Return the losses of an `up` with this specification; TestbedError if docker cannot be used."""
    dockerd.ensure()
    return of(spec, inventory, look.standing(spec.id))


def of(spec: Spec, inventory: Path, existing: Mapping[str, Any]) -> Loss:
    """Return the losses, where `existing` are entries of `docker inspect` by the node's name."""
    if not existing:
        return Loss()
    folder = kept.folder(spec.id)
    key = keys.key_in(folder)
    shapes = None
    if key:
        public_key = keys.public_path(key).read_text().strip()
        shapes = {box.name: orders.shape(spec, box, folder, public_key) for box in spec.containers}
    boxes = changed(spec, existing, shapes)
    return Loss(
        inventory=_other_inventory(spec.id, inventory),
        nodes=tuple(box.name for box in boxes),
        databases=tuple(box.name for box in boxes if "database" in box.roles),
        keyless=key is None,
    )


def changed(spec: Spec, existing: Mapping[str, Any], shapes: Mapping[str, str] | None) -> list[Container]:
    """Return the existing nodes that must be recreated, by their wanted `shapes`.

    `shapes` is None if the testbed's key is lost; then all nodes are recreated, because they accept no other key.
    """
    return [
        box
        for box in spec.containers
        if box.name in existing
        and (shapes is None or existing[box.name]["Config"]["Labels"].get(SHAPE_LABEL) != shapes[box.name])
    ]


def _other_inventory(testbed: str, inventory: Path) -> str | None:
    try:
        before = kept.load(testbed).inventory
    except TestbedError:
        return None
    return None if Path(before).resolve() == inventory.resolve() else before
