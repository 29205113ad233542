"""A page about a verified cluster for others: distributions, roles and results, without names and addresses."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpupool import __version__
from gpupool.cluster.model import Cluster
from gpupool.verify.run import Outcome

#: Names of a row: distribution and roles, or distribution and check.
_Row = tuple[str, str]
_RESULTS = ("passed", "failed", "not checked")


def page(cluster: Cluster, outcomes: Iterable[Outcome]) -> str:
    """Return a page in Markdown with the results of the checks: by distribution and roles, then by check.

    It has no name of a cluster, node or user, no address, and no reason of a failure, which may quote a file.
    """
    made = [outcome for outcome in outcomes if outcome.node in cluster.nodes]
    nodes = Counter(_kind(cluster, name) for name in dict.fromkeys(outcome.node for outcome in made))
    by_roles = [(_kind(cluster, outcome.node), _result(outcome)) for outcome in made]
    by_check = sorted(((_title(cluster, outcome.node), outcome.check), _result(outcome)) for outcome in made)
    lines = (*_heading(cluster), *_table("roles", by_roles, nodes), "", *_table("check", by_check))
    return "".join(f"{line}\n" for line in lines)


def _heading(cluster: Cluster) -> Iterator[str]:
    where = "a testbed" if cluster.drivers.testbed else "machines"
    slurm = f"Slurm {cluster.slurm.version} (slurm.packages: {cluster.slurm.packages})"
    yield f"# gpupool {__version__} on {where}, with {slurm}"
    yield ""


def _table(second: str, results: Sequence[tuple[_Row, str]], nodes: Mapping[_Row, int] | None = None) -> Iterator[str]:
    """Yield a table with a row for each pair of names, and the numbers of nodes if they are given."""
    headings = ["distribution", second, *(["nodes"] if nodes else []), *_RESULTS]
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    counts = Counter(results)
    for row in dict.fromkeys(row for row, _ in results):
        numbers = [*([nodes[row]] if nodes else []), *(counts[row, result] for result in _RESULTS)]
        yield f"| {' | '.join([*row, *map(str, numbers)])} |"


def _title(cluster: Cluster, name: str) -> str:
    return cluster.nodes[name].system.title


def _kind(cluster: Cluster, name: str) -> _Row:
    return _title(cluster, name), ", ".join(cluster.nodes[name].roles)


def _result(outcome: Outcome) -> str:
    return "not checked" if outcome.not_checked else "passed" if outcome.ok else "failed"
