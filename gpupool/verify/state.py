"""The states of all nodes in a run of the checks, and the faults that keep a daemon of Slurm from answering."""

from collections.abc import Mapping
from functools import cached_property

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.slurm.conf import has_files
from gpupool.slurm.user import other_number
from gpupool.verify import links
from gpupool.verify.survey import Seen

#: unmunge's exit status, munge(3): the reason, with the remedy.
_UNMUNGE = {
    14: "another key than the controller's (`gpupool apply` installs the controller's)",
    15: "expired: the clock of one of them is wrong",
    16: "from the future: the clock of one of them is wrong",
}
_MUNGE = "munge.service"


class ClusterState:
    """The states by name of the checked nodes, and of the nodes of Slurm's central daemons."""

    def __init__(self, cluster: Cluster, seen: Mapping[str, Seen]) -> None:
        self.cluster = cluster
        self.seen = seen

    def of(self, node: Node) -> Seen:
        """Return the state of a node."""
        return self.seen[node.name]

    @property
    def central(self) -> Seen:
        """The state of the first controller; empty if gpupool does not log in there."""
        return self.seen.get(self.first, Seen())

    @property
    def first(self) -> str:
        """The name of the first controller."""
        return self.cluster.controllers[0].name

    @cached_property
    def closed(self) -> Mapping[str, list[str]]:
        """The messages about connections between nodes that fail, by the node at which they are to be mended."""
        running = {
            name: {unit.removesuffix(".service") for unit, state in seen.units.items() if state.is_active}
            for name, seen in self.seen.items()
        }
        results = {link: result for seen in self.seen.values() for link, result in seen.dialled.items()}
        return links.faults(results, running)

    def credential_fault(self, node: Node) -> str:
        """Return why this node and the first controller do not accept each other's credentials; "" if they do."""
        seen = self.of(node)
        directions = (
            ("the controller does not accept this node's credential", seen.decoded),
            ("this node does not accept the controller's credential", seen.decodes),
        )
        wrong = ((text, code) for text, code in directions if code)
        return next((f"{text}: {_UNMUNGE.get(code, f'unmunge ends with {code}')}" for text, code in wrong), "")

    def number_fault(self, node: Node) -> str:
        """Return how the user slurm of a node differs from the first controller's; "" if it does not."""
        own, wanted = self.of(node).slurm, self.central.slurm
        if own is None or wanted is None or own == wanted:
            return ""
        return other_number(own, wanted, self.first)

    def blocked(self, node: Node, daemon: str) -> str:
        """Return the fault of another check that keeps a daemon of Slurm from answering this node; "" if none."""
        if fault := self._unit(node.name, _MUNGE):
            return fault
        if daemon == "munge":
            return ""
        if daemon == "slurmd":
            return self._unit(node.name, "slurmd.service")
        if self.credential_fault(node):
            return f"{node.name} and {self.first} do not accept each other's credentials of munge"
        if daemon == "slurmctld":
            return self._slurmctld(node)
        databases = [other.name for other in self.cluster.having("database")]
        faults = [
            self._unit(name, f"{unit}.service") for name in databases for unit in ("mariadb", "slurmdbd", "munge")
        ]
        return next(filter(None, faults), "")

    def _slurmctld(self, node: Node) -> str:
        controllers = [other.name for other in self.cluster.controllers if other.name in self.seen]
        faults = [self._unit(name, _MUNGE) or self._unit(name, "slurmctld.service") for name in controllers]
        if faults and all(faults):
            return faults[0]
        # Slurm's commands read the configuration that a daemon of this node has fetched
        fetcher = "slurmd.service" if node.has("compute") else "sackd.service"
        if not has_files(self.cluster, node) and (fault := self._unit(node.name, fetcher)):
            return fault
        tried = [result for link, result in self.of(node).dialled.items() if link.daemon == "slurmctld"]
        if tried and all(result != "OK" for result in tried):
            return f"{node.name} does not reach slurmctld"
        return f"{node.name} has another number of the user slurm" if self.number_fault(node) else ""

    def _unit(self, name: str, unit: str) -> str:
        problem = self.seen[name].problem(unit) if name in self.seen else ""
        return f"{name}: {problem}" if problem else ""
