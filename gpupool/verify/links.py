"""The connections between nodes that Slurm needs, and the node at which a failed one is to be mended."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.slurm.names import SLURM_PORTS
from gpupool.slurm.hostlists import fold_set

#: Other nodes of which a compute node tries slurmd: each to each would be a million connections on 1000 nodes.
_NEIGHBOURS = 3
#: A port on which srun may wait for its tasks, without SrunPortRange: one of Linux' range for clients.
_CLIENT_PORT = 50500
_SRUN = "srun"
_RESULTS = {
    "ETIMEDOUT": "no answer",
    "ECONNREFUSED": "refused",
    "EHOSTUNREACH": "rejected, or no route",
    "ENETUNREACH": "no route",
    "EACCES": "forbidden",
    "EPERM": "forbidden",
}


@dataclass(frozen=True)
class Link:
    """A TCP connection from a node to a port of another one; `daemon` waits there."""

    source: str
    target: str
    address: str
    port: int
    daemon: str

    @property
    def line(self) -> str:
        """The target, as `dial.py` reads and prints it."""
        return f"{self.address} {self.port}"


def links(cluster: Cluster, nodes: Sequence[Node]) -> dict[str, list[Link]]:
    """Return the connections between these nodes by their source."""
    by_source: dict[str, list[Link]] = defaultdict(list)
    for source, target, daemon in _pairs(cluster, nodes):
        if source != target:
            link = Link(source.name, target.name, target.reached_at or target.name, _port(cluster, daemon), daemon)
            by_source[source.name].append(link)
    return {name: list(dict.fromkeys(its_links)) for name, its_links in by_source.items()}


def _pairs(cluster: Cluster, nodes: Sequence[Node]) -> Iterator[tuple[Node, Node, str]]:
    controllers = [node for node in nodes if node.has("controller", "backup-controller")]
    heads = [node for node in nodes if node.has("head")]
    compute = [node for node in nodes if node.has("compute")]
    slurm = [node for node in nodes if node.runs_slurm]
    yield from ((node, controller, "slurmctld") for node in slurm for controller in controllers)
    databases = [node for node in nodes if node.has("database")]
    yield from ((node, database, "slurmdbd") for node in (*controllers, *heads) for database in databases)
    yield from ((node, target, "slurmd") for node in (*controllers, *heads) for target in compute)
    yield from ((node, head, _SRUN) for node in compute for head in heads)
    for number, node in enumerate(compute):
        # the node before the first one is the last one
        for distance in range(1, min(_NEIGHBOURS, len(compute) - 1) + 1):
            yield node, compute[number - distance], "slurmd"
            yield node, compute[number - distance], _SRUN


def _port(cluster: Cluster, daemon: str) -> int:
    if daemon == _SRUN:
        first = str(cluster.slurm.parameters.get("SrunPortRange", "")).partition("-")[0]
        return int(first) if first.isdecimal() else _CLIENT_PORT
    return dict(zip(("slurmctld", "slurmd", "slurmdbd"), SLURM_PORTS, strict=True))[daemon]


def faults(results: Mapping[Link, str], running: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
    """Return the messages of each node; `running` are the daemons that run, by node.

    A daemon that does not run refuses connections, which is no fault of a port. If all sources of a port fail, the
    fault is at the target; else it is at the sources.
    """
    bad = {link: result for link, result in results.items() if _is_closed(link, result, running)}
    ends = _ends(results, bad)
    by_fault: dict[tuple[str, str, str], list[Link]] = defaultdict(list)
    for link in bad:
        key = (ends[link], "" if ends[link] == link.source else f"{link.port} ({link.daemon})", bad[link])
        by_fault[key].append(link)
    messages: dict[str, list[str]] = defaultdict(list)
    for (node, port, result), failed_links in by_fault.items():
        text = _RESULTS.get(result, result)
        if port:
            sources = fold_set(link.source for link in failed_links)
            messages[node].append(f"port {port} is closed to {sources}: {text}")
        else:
            ports: dict[str, list[str]] = defaultdict(list)
            for link in failed_links:
                ports[f"{link.port} ({link.daemon})"].append(link.target)
            targets = "; ".join(f"port {port} of {fold_set(names)}" for port, names in ports.items())
            messages[node].append(f"cannot connect to {targets}: {text}")
    return messages


def _is_closed(link: Link, result: str, running: Mapping[str, Collection[str]]) -> bool:
    if result == "ECONNREFUSED":
        return link.daemon != _SRUN and link.daemon in running.get(link.target, ())
    return result != "OK"


def _ends(results: Collection[Link], bad: Collection[Link]) -> dict[Link, str]:
    """Return the node at which each of the failed connections is to be mended."""
    of_source: dict[str, list[Link]] = defaultdict(list)
    of_target: dict[tuple[str, int], list[Link]] = defaultdict(list)
    for link in results:
        of_source[link.source].append(link)
        of_target[link.target, link.port].append(link)
    cut_off = {
        source
        for source, tried in of_source.items()
        if len({link.target for link in tried}) > 1 and all(link in bad for link in tried)
    }
    ends = {link: link.source for link in bad if link.source in cut_off}
    for link in bad:
        others = [other for other in of_target[link.target, link.port] if other.source not in cut_off]
        ends.setdefault(link, link.target if all(other in bad for other in others) else link.source)
    return ends
