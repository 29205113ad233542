"""Packages of Slurm by their source: the distribution's, or SchedMD's own, which cannot be beside them; or none."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from gpupool.distributions.tables import Distribution, Purpose
from gpupool.tables import read

#: Where Slurm's packages come from: the inventory's slurm.packages. With `site`, gpupool installs none.
Source = Literal["distribution", "schedmd", "site"]
#: The purposes of Slurm's packages, which have one release on all nodes.
PURPOSES: frozenset[Purpose] = frozenset(
    {"slurm commands", "slurmctld", "slurmd", "slurmdbd", "sackd", "logins with a job"}
)


@dataclass(frozen=True)
class Upstream:
    """SchedMD's packages by purpose, all names of its packages, and those of distributions that conflict with them."""

    packages: Mapping[Purpose, tuple[str, ...]]
    every: tuple[str, ...]
    conflicts: tuple[str, ...]


@cache
def schedmd() -> Upstream:
    """Return SchedMD's packages; their table is gpupool/distributions/schedmd/slurm.yml."""
    table = read(Path(__file__).parent / "schedmd" / "slurm.yml")
    packages = {purpose: tuple(table["packages"][purpose]) for purpose in sorted(PURPOSES)}
    own = (name for names in packages.values() for name in names)
    return Upstream(packages, tuple(sorted({*own, *table["further"]})), tuple(table["conflicts"]))


def names(system: Distribution, source: Source, purposes: Iterable[Purpose]) -> set[str]:
    """Return the names of a distribution's packages for these purposes, with Slurm's of a source."""
    table = dict(system.packages)
    if source != "distribution":
        table |= schedmd().packages if source == "schedmd" else dict.fromkeys(PURPOSES, ())
    return {name for purpose in purposes for name in table[purpose]}


def others(system: Distribution, source: Source) -> tuple[str, ...]:
    """Return the names of packages that cannot be beside Slurm's of this source."""
    if source == "site":
        return ()
    if source == "distribution":
        return schedmd().every
    return tuple(sorted({*names(system, "distribution", PURPOSES), *schedmd().conflicts}))


def programs(system: Distribution) -> list[str]:
    """Return the names of the packages of Slurm's commands and daemons, of every source."""
    purposes = PURPOSES - {"logins with a job"}
    return sorted(names(system, "distribution", purposes) | names(system, "schedmd", purposes))
