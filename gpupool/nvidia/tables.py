"""The tables of this folder as frozen data."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

Module = Literal["open", "proprietary"]
Version = tuple[int, ...]


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
    """Debian's package of a driver branch, and that of its open kernel module, if there is one."""

    driver: str
    open: str | None


@dataclass(frozen=True)
class Distribution:
    """The drivers of a release of Debian: packages by branch, and the branch of `nvidia-driver` (`default`)."""

    default: str
    branches: Mapping[str, Packages]


def version(text: str) -> Version:
    """Return a version like `12.4` or `550.163.01` as numbers to compare; ValueError if it has other characters."""
    return tuple(int(part) for part in text.split("."))


@cache
def read(name: str) -> dict[str, Any]:
    """Return a table of this folder unchanged, with its sources."""
    text = Path(__file__).with_name(f"{name}.yml").read_text(encoding="utf-8")
    table: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
    return table


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
    """Return the drivers of each release of Debian."""
    rows = read("debian")["distributions"]
    return {
        release: Distribution(
            row["default"],
            {name: Packages(packages["driver"], packages.get("open")) for name, packages in row["branches"].items()},
        )
        for release, row in rows.items()
    }
