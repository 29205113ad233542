"""One entry is a partition for each lab, with the lab's own nodes and QoS, and is checked like one for each."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inventories import SMALL, changed, copied

from gpupool.cluster.load import examine
from gpupool.compile import files_for
from gpupool.compile.slurm.accounting import entities
from gpupool.compile.slurm.conf import slurm_conf

OWNED = SMALL.parent / "owned"
BY_HAND = '  - {name: dm, nodes: "dm-[1-2]", max_time: 7d, tier: 10, allow_accounts: [dm]}\n'
EACH = '{name: "{account}", for_each: lab, nodes: "@owner:{account}", tier: 10, allow_accounts: ["{account}"]'
ONCE = f"  - {EACH}, max_time: 7d}}\n"
CHEM = ("owns: {cpu: 40}", "owns: cpu-1")
NO_CPUS = ("chem, dept]}", "dept]}"), ('nodes: "cpu-[1-2]"', "nodes: cpu-2")


def complaints(folder: Path) -> list[str]:
    return [str(one).partition("/inventory.yml:")[2].partition(": ")[2] for one in examine(folder).open]


def test_it_compiles_as_the_partitions_written_by_hand(tmp_path: Path) -> None:
    by_hand, once = changed(OWNED, tmp_path / "a"), changed(OWNED, tmp_path / "b", (BY_HAND, ONCE))
    assert slurm_conf(once) == slurm_conf(by_hand)
    assert entities(once) == entities(by_hand)
    for name, node in once.nodes.items():
        assert files_for(once, node) == files_for(by_hand, by_hand.nodes[name])


def test_each_owner_of_nodes_has_one_and_owners_of_shares_none(tmp_path: Path) -> None:
    cluster = changed(OWNED, tmp_path, (BY_HAND, ONCE), CHEM, *NO_CPUS)
    own = {name: part.nodes for name, part in cluster.partitions.items() if part.entry.for_each}
    assert own == {"dm": ("dm-1", "dm-2"), "chem": ("cpu-1",)}
    assert cluster.partitions["chem"].allow_accounts == ("chem",)


def test_qos_are_each_accounts_own(tmp_path: Path) -> None:
    qos = ("normal: {default: true}", "normal: {default: true}\n  of_dm: {priority: 5}\n  of_chem: {priority: 7}")
    once = f'  - {EACH}, max_time: 7d, qos: ["of_{{account}}", normal], default_qos: "of_{{account}}"}}\n'
    cluster = changed(OWNED, tmp_path, (BY_HAND, once), CHEM, *NO_CPUS, qos)
    for name in ("dm", "chem"):
        entry = cluster.partitions[name].entry
        assert (entry.qos, entry.default_qos) == ((f"of_{name}", "normal"), f"of_{name}")
    assert "AllowQos=of_chem,normal" in slurm_conf(cluster)


def test_owned_nodes_can_be_selected_everywhere(tmp_path: Path) -> None:
    cluster = changed(
        OWNED, tmp_path, (BY_HAND, ONCE), CHEM, *NO_CPUS, ('lent, nodes: "@compute"', 'lent, nodes: "@owner:*!dm-1"')
    )
    assert cluster.select("@owner:dm") == {"dm-1", "dm-2"}
    assert cluster.select("@gpu:a40!@owner:dm") == {"pool-1"}
    assert cluster.partitions["lent"].nodes == ("dm-2", "cpu-1")


@pytest.mark.parametrize(
    ("replaced", "expected"),
    [
        ([(BY_HAND, BY_HAND + ONCE)], "error: partitions[3].name: the partition dm is defined twice"),
        (
            [(BY_HAND, ONCE.replace("7d}", '7d, qos: [normal, "{account}"]}'))],
            "error: partitions[2].qos[1]: there is no QoS 'dm'",
        ),
        (
            [('owns: "dm-[1-2]"', "owns: dm-9"), (BY_HAND, ONCE)],
            "error: accounts[3].owns: 'dm-9': there is no node dm-9",
        ),
        ([CHEM, ("owns: cpu-1", 'owns: "@owner:dm"')], "error: accounts[4].owns: '@owner:dm': unknown kind of group"),
    ],
)
def test_a_mistake_is_at_the_line_of_the_entry(replaced: list[tuple[str, str]], expected: str, tmp_path: Path) -> None:
    assert [line for line in complaints(copied(OWNED, tmp_path, *replaced)) if line.startswith(expected)]


def test_a_lab_that_owns_nodes_has_no_cap_in_preemptable_partitions(tmp_path: Path) -> None:
    assert complaints(copied(OWNED, tmp_path, ("allow_accounts: [pot]", "allow_accounts: [dm]"))) == []


def test_what_a_lab_owns_is_explained(gpupool: Callable[..., Any], tmp_path: Path) -> None:
    copied(OWNED, tmp_path, (BY_HAND, ONCE))
    written = (tmp_path / "inventory.yml").read_text().splitlines()
    place = f"inventory.yml:{written.index(ONCE.rstrip()) + 1})"
    lines = gpupool("explain", tmp_path, "dm").out.splitlines()
    partition = lines[lines.index("partition dm") :]
    assert any(line.split()[:2] == ["nodes", "@owner:dm"] and line.endswith(place) for line in partition)
    assert "None" not in "".join(lines)
