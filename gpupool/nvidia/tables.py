"""The tables of this folder as frozen data."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from gpupool import tables
from gpupool.tables import version

Module = Literal["open", "proprietary"]


@dataclass(frozen=True)
class Architecture:
    """A compute capability; `last_cuda` and `last_branch` are None if no end is announced.

    `first_branch` is the first branch whose CUDA builds programs for it; `module` is None if both kernel modules work.
    """

    capability: str
    name: str
    first_cuda: str
    last_cuda: str | None
    first_branch: str
    last_branch: str | None
    module: Module | None


@dataclass(frozen=True)
class Branch:
    """A driver branch and its CUDA; `open`: it has NVIDIA's open kernel module, too; `long_term`: long-term support."""

    name: str
    cuda: str
    open: bool
    long_term: bool


@dataclass(frozen=True)
class Packages:
    """A distribution's package of a driver branch, and that of its open kernel module, if there is one."""

    driver: str
    open: str | None


@dataclass(frozen=True)
class Distribution:
    """The drivers of a release: packages by branch, and the branch without a choice in the inventory (`default`)."""

    default: str
    branches: Mapping[str, Packages]


@cache
def read(name: str) -> dict[str, Any]:
    """Return a table of this folder unchanged, with its sources."""
    return tables.read(Path(__file__).with_name(f"{name}.yml"))


def has_fabric_manager(distribution: str) -> bool:
    """Return whether a distribution, named as ID in os-release, has the fabric manager that NVSwitch needs."""
    return "fabric" in read("packages")[distribution]


@cache
def branches() -> Mapping[str, Branch]:
    """Return the driver branches by name, oldest first."""
    rows = read("branches")["branches"]
    return {
        name: Branch(name, row["cuda"], row.get("open", False), row.get("support") == "long-term")
        for name, row in rows.items()
    }


@cache
def architectures() -> Mapping[str, Architecture]:
    """Return the row of each compute capability."""
    rows = read("architectures")["capabilities"]
    return {
        capability: Architecture(
            capability,
            row["name"],
            row["first_cuda"],
            row.get("last_cuda"),
            next(branch.name for branch in branches().values() if version(branch.cuda) >= version(row["first_cuda"])),
            row.get("last_branch"),
            row.get("module"),
        )
        for capability, row in rows.items()
    }


@cache
def distributions() -> Mapping[str, Distribution]:
    """Return the drivers of each release of a distribution, by its key in gpupool.distributions."""
    rows = {**read("debian")["distributions"], **read("ubuntu")["distributions"]}
    return {
        release: Distribution(
            row["default"],
            {name: Packages(packages["driver"], packages.get("open")) for name, packages in row["branches"].items()},
        )
        for release, row in rows.items()
    }
