"""The parts of a running cluster that a node has: the munge key, steps of jobs, slurmctld's state, the database."""

from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.munge import KEY
from gpupool.facts.script import ask
from gpupool.facts.service import STAMPS
from gpupool.shell import shell_file
from gpupool.shown import Shown

#: slurmdbd's database in MariaDB.
DATABASE = "slurm_acct_db"
LOOK = shell_file(__package__, "remains.sh")


@dataclass(frozen=True)
class KnownCluster(Shown):
    """A cluster in slurmdbd's database: its name, its ClusterID, and the address of its last slurmctld."""

    name: str
    number: str
    address: str = ""


@dataclass(frozen=True)
class RemainsState(Shown):
    """The parts of a cluster on one node.

    `key` is the sha256 of the munge key, "" without one; `started`: gpupool has started munge with a key here. `steps`
    are jobs with steps on the node. `runs`: slurmctld runs; `queue`: its state has jobs; `name` and `number` are
    ClusterName and ClusterID of the state; `unmounted`: the mount of the state is missing. `tables`: there is a
    database, with `known` clusters and `jobs` that have not ended; `unread`: MariaDB does not run with it.
    """

    key: str = ""
    started: bool = False
    steps: tuple[str, ...] = ()
    runs: bool = False
    queue: bool = False
    name: str = ""
    number: str = ""
    unmounted: bool = False
    tables: bool = False
    unread: bool = False
    known: tuple[KnownCluster, ...] = ()
    jobs: tuple[str, ...] = ()


def arguments(cluster: str, state: str = "", mount: str = "", database: bool = False) -> list[str]:
    """Return the arguments of the script `LOOK`; see `Remains`."""
    return [f"{STAMPS}/munge.service", KEY, state, mount, DATABASE if database else "", cluster]


def read(lines: list[str]) -> RemainsState:
    """Return the answer of the script `LOOK`."""
    rows = [line.split("\t") for line in lines if line]

    def of(kind: str) -> list[list[str]]:
        return [row[1:] for row in rows if row[0] == kind]

    key, own = of("key"), of("name")
    name, _, number = own[0][0].partition("|") if own else ("", "", "")
    return RemainsState(
        key=key[0][0] if key else "",
        started=bool(of("started")),
        steps=tuple(row[0] for row in of("step") if row[0].isdecimal()),
        runs=bool(of("slurmctld")),
        queue=bool(of("state")),
        name=name,
        number=number,
        unmounted=bool(of("unmounted")),
        tables=bool(of("tables")),
        unread=bool(of("unread")),
        known=tuple(KnownCluster(*row) for row in of("known")),
        jobs=tuple(row[0] for row in of("job") if row[0].isdecimal()),
    )


class Remains(Fact[RemainsState]):
    """The parts of `cluster` on a node; `state`, its `mount` and `database` only where the node should have them."""

    def command(self, cluster: str, state: str = "", mount: str = "", database: bool = False) -> StringCommand:
        """Ask for all of them in one command."""
        return ask(LOOK, *arguments(cluster, state, mount, database))

    def read(self, lines: list[str]) -> RemainsState:
        """Read the answer."""
        return read(lines)
