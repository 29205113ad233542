"""Actions on slurmctld's power requests, look by look: nodes that are switched, that wait, that are marked."""

from dataclasses import dataclass, field

import pytest

from gpupool.programs.elastic.decide import AGAIN, Seen, Step, settle, steps
from gpupool.programs.elastic.wishes import Progress, Wish

BOOT = 300
UP, IDLE, MARKED = {"ALLOCATED", "CLOUD", "POWERING_UP"}, {"IDLE", "CLOUD"}, {"DOWN", "CLOUD", "POWERING_UP"}


@dataclass
class Cluster:
    """Nodes that are on or off, each with a state in Slurm; requests to the cloud are recorded."""

    limit: int | None = None
    now: float = 1000.0
    wishes: dict[str, Wish] = field(default_factory=dict)
    progress: dict[str, Progress] = field(default_factory=dict)
    on: dict[str, bool] = field(default_factory=dict)
    states: dict[str, set[str]] = field(default_factory=dict)

    def wish(self, power: str, *nodes: str) -> None:
        for node in nodes:
            self.now += 0.001
            self.wishes[node] = Wish(power, int(self.now * 1e9))
            self.states[node] = UP if power == "on" else {"IDLE", "CLOUD", "POWERING_DOWN"}

    def look(self, after: float = 1.0) -> list[Step]:
        """Look once more; the nodes to switch are sent to the cloud."""
        self.now += after
        seen = Seen(self.now, self.on, self.states)
        settle(self.wishes, self.progress, seen)
        todo = list(steps(self.wishes, self.progress, seen, self.limit, BOOT))
        for step in todo:
            its = self.progress[step.node]
            if step.act == "fail":
                its.failed, its.called = True, 0.0
            else:
                its.called = self.now
                its.began = its.began or (self.now if step.act == "on" else 0.0)
        return todo

    def acts(self, after: float = 1.0) -> list[tuple[str, str]]:
        return [(step.node, step.act) for step in self.look(after)]


def test_a_node_is_started_once_and_done_when_it_has_joined() -> None:
    cluster = Cluster()
    cluster.wish("on", "a")
    assert cluster.acts() == [("a", "on")]
    assert cluster.acts() == []
    cluster.on["a"] = True
    assert cluster.acts() == []
    cluster.states["a"] = IDLE
    assert cluster.acts() == []
    assert cluster.progress["a"].done
    # an admin who switches it off by hand is not overridden
    cluster.on["a"] = False
    assert cluster.acts(AGAIN) == []


def test_a_node_that_is_off_is_not_switched_off_again() -> None:
    cluster = Cluster()
    cluster.wish("off", "a")
    assert cluster.acts() == []
    assert cluster.progress["a"].done
    # nor a node that an admin has started since
    cluster.on["a"] = True
    assert cluster.acts() == []


def test_a_machine_that_is_still_on_is_switched_off_again() -> None:
    cluster = Cluster(on={"a": True})
    cluster.wish("off", "a")
    assert cluster.acts() == [("a", "off")]
    assert cluster.acts() == []
    assert cluster.acts(AGAIN) == [("a", "off")]


def test_the_last_request_counts() -> None:
    cluster = Cluster(on={"a": True})
    cluster.wish("off", "a")
    assert cluster.acts() == [("a", "off")]
    cluster.wish("on", "a")
    # it is still being switched off
    assert cluster.acts() == []
    cluster.on["a"] = False
    assert cluster.acts() == [("a", "on")]


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_at_most_the_limit_start_at_once_and_the_others_in_their_order(limit: int) -> None:
    cluster = Cluster(limit)
    nodes = list("dacb")
    cluster.wish("on", *nodes)
    order = []
    while len(order) < len(nodes):
        started = [node for node, _ in cluster.acts()]
        order += started
        assert sum(node in order and "POWERING_UP" in cluster.states[node] for node in nodes) <= limit
        for node in started:
            cluster.on[node] = True
        cluster.look()
        cluster.states[order[-1]] = IDLE
        for node in order:
            cluster.states[node] = IDLE
    assert order == nodes


def test_a_node_that_does_not_join_is_marked_switched_off_and_frees_its_place() -> None:
    cluster = Cluster(limit=1)
    cluster.wish("on", "a", "b")
    assert cluster.acts() == [("a", "on")]
    cluster.on["a"] = True
    assert cluster.acts(BOOT - 2) == []
    assert cluster.look(2) == [Step("a", "fail", f"did not join within {BOOT} s of its start")]
    cluster.states["a"] = MARKED
    assert cluster.acts() == [("a", "off"), ("b", "on")]
    cluster.on["a"] = False
    assert cluster.acts() == []
    assert cluster.progress["a"].done


def test_the_boot_timeout_begins_with_the_start_of_the_machine() -> None:
    cluster = Cluster(limit=1)
    cluster.wish("on", "a")
    cluster.look()
    cluster.wish("on", "b")
    cluster.on["a"] = True
    cluster.look(BOOT - 2)
    cluster.states["a"] = IDLE
    assert cluster.acts(10) == [("b", "on")]


def test_a_node_that_switches_off_while_it_starts_is_started_again() -> None:
    cluster = Cluster()
    cluster.wish("on", "a")
    cluster.look()
    cluster.on["a"] = True
    cluster.look()
    cluster.on["a"] = False
    assert cluster.acts() == [("a", "on")]


def test_a_node_that_marked_itself_is_kept_on_until_slurm_powers_it_down() -> None:
    """A node older than the inventory: an admin applies while it is on."""
    cluster = Cluster(limit=1)
    cluster.wish("on", "a")
    cluster.look()
    cluster.on["a"], cluster.states["a"] = True, MARKED
    cluster.wish("on", "b")
    assert cluster.acts() == [("b", "on")]
    assert cluster.acts(2 * BOOT) == [("b", "fail")]
    cluster.wish("off", "a")
    assert ("a", "off") in cluster.acts()


def test_a_restarted_service_continues() -> None:
    cluster = Cluster(limit=1)
    cluster.wish("on", "a", "b")
    cluster.look()
    before = {name: Progress(**vars(progress)) for name, progress in cluster.progress.items()}
    cluster.progress = before
    assert cluster.acts() == []


def test_nodes_that_left_the_inventory_are_forgotten() -> None:
    cluster = Cluster()
    cluster.wish("on", "a", "b")
    cluster.look()
    del cluster.wishes["a"]
    cluster.look()
    assert list(cluster.progress) == ["b"]
