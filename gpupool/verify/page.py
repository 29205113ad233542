"""A page about a verified cluster for others: distributions, roles and results, without names and addresses."""

from collections import Counter
from collections.abc import Iterable, Iterator

from gpupool import __version__
from gpupool.cluster.model import Cluster
from gpupool.verify.run import Outcome

_Kind = tuple[str, str]


def page(cluster: Cluster, outcomes: Iterable[Outcome]) -> str:
    """Return a page in Markdown with the results of the checks, by distribution and roles.

    It has no name of a cluster, node or user, no address, and no reason of a failure, which may quote a file.
    """
    made = [outcome for outcome in outcomes if outcome.node in cluster.nodes]
    return "".join(f"{line}\n" for line in (*_heading(cluster), *_table(cluster, made), *_not_passed(cluster, made)))


def _heading(cluster: Cluster) -> Iterator[str]:
    where = "a testbed" if cluster.drivers.testbed else "machines"
    slurm = f"Slurm {cluster.slurm.version} (slurm.packages: {cluster.slurm.packages})"
    yield f"# gpupool {__version__} on {where}, with {slurm}"
    yield ""


def _table(cluster: Cluster, made: list[Outcome]) -> Iterator[str]:
    """Yield a row for each distribution and set of roles."""
    yield "| distribution | roles | nodes | passed | failed | not checked |"
    yield "|---|---|---|---|---|---|"
    nodes = Counter(_kind(cluster, name) for name in dict.fromkeys(outcome.node for outcome in made))
    results = Counter((_kind(cluster, outcome.node), _result(outcome)) for outcome in made)
    for kind, count in nodes.items():
        counts = (results[kind, result] for result in ("passed", "failed", "not checked"))
        yield f"| {' | '.join([*kind, str(count), *map(str, counts)])} |"


def _not_passed(cluster: Cluster, made: list[Outcome]) -> Iterator[str]:
    """Yield a line for each check that did not pass on a distribution."""
    found = Counter(
        (cluster.nodes[outcome.node].system.title, outcome.check, _result(outcome))
        for outcome in made
        if _result(outcome) != "passed"
    )
    if found:
        yield ""
    for (title, check, result), count in sorted(found.items()):
        yield f"- {title}: {check}: {result} on {count} of the nodes"


def _kind(cluster: Cluster, name: str) -> _Kind:
    node = cluster.nodes[name]
    return node.system.title, ", ".join(node.roles)


def _result(outcome: Outcome) -> str:
    return "not checked" if outcome.not_checked else "passed" if outcome.ok else "failed"
