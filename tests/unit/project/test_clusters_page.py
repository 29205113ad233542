"""docs/clusters.md, which compares the five clusters, agrees with their inventories."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from inventories import INVENTORY

PAGE = Path(__file__).parents[3] / "docs" / "clusters.md"
CLUSTERS = ("skynet", "aau-ai-cloud", "gcp-slurm", "arandu", "santos-dumont")
SIDE_BY_SIDE, _, OTHERS = PAGE.read_text().partition("## Eight more")
NEEDED = OTHERS.partition("## Keys that the five do not need")[2]
ROWS = [line.strip("| \n").split(" | ") for line in SIDE_BY_SIDE.splitlines() if " | `" in line]


@cache
def _inventory(name: str) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for file in (INVENTORY / name).glob("*.yml"):
        merged |= yaml.safe_load(file.read_text())
    return merged


def _has(value: Any, keys: list[str]) -> bool:
    """Return whether the key exists, in any of the items of a list."""
    if isinstance(value, list):
        return any(_has(item, keys) for item in value)
    return not keys or (isinstance(value, dict) and keys[0] in value and _has(value[keys[0]], keys[1:]))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[1])
def test_a_dash_means_that_the_inventory_does_not_have_the_key(row: list[str]) -> None:
    _, key, *cells = row
    assert len(cells) == len(CLUSTERS)
    for cluster, cell in zip(CLUSTERS, cells, strict=True):
        assert _has(_inventory(cluster), key.strip("`").split(".")) is (cell != "–"), cluster


def test_the_page_has_its_rows() -> None:
    assert len(ROWS) > 40


def test_each_public_cluster_has_a_row_with_at_most_three_missing_features() -> None:
    rows = [line.strip("| ").split(" | ") for line in OTHERS.splitlines() if line.startswith("| [")]
    folders = {path.parent.name for path in (INVENTORY / "others").glob("*/inventory.yml")}
    assert {row[0].partition("]")[0].strip("[") for row in rows} == folders
    assert all(row[-1].count(";") < 3 for row in rows)


BY_NAME = {("gpu_types",), ("hardware",), ("qos",), ("groups",), ("storage", "exports"), ("storage", "pools")}
OPEN = {"parameters", "gpus", "gpu_memory", "owns", "per_gpu", "packages", "links", "spaces", "login", "job"}


def _keys(value: Any, path: tuple[str, ...] = (), parent: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the keys of an inventory, without the names of the site's own things."""
    if isinstance(value, list):
        for item in value:
            yield from _keys(item, path, parent)
    elif isinstance(value, dict) and path[-1:] not in {(name,) for name in OPEN}:
        for key, inner in value.items():
            if path in BY_NAME and path != parent:
                yield from _keys(inner, path, path)
            elif key not in ("src", "inferred"):
                yield ".".join((*path, str(key)))
                yield from _keys(inner, (*path, str(key)), parent)


def test_the_names_of_things_are_not_keys() -> None:
    assert {*_keys({"qos": {"short": {"limits": {"group": {"cpu": 1}}}, "long": {"src": "guide"}}})} == {
        "qos",
        "qos.limits",
        "qos.limits.group",
        "qos.limits.group.cpu",
    }


def test_every_key_that_only_other_clusters_need_has_a_row() -> None:
    known = {key for name in CLUSTERS for key in _keys(_inventory(name))}
    others = {folder.parent.name for folder in (INVENTORY / "others").glob("*/inventory.yml")}
    needed = {key for name in others for key in _keys(_inventory(f"others/{name}"))} - known
    rows = set(re.findall(r"`([a-z_.]+)`", NEEDED))
    assert sorted(key for key in needed if not any(f"{key}.".startswith(f"{row}.") for row in rows)) == []
    assert len(rows) > 30
