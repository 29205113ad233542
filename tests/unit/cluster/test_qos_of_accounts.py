"""One entry is a QoS for each account of a kind, which the users of this account have, and no others."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inventories import INVENTORY, SMALL, changed, copied

from gpupool.cluster.load import examine, load
from gpupool.compile import files_for
from gpupool.compile.slurm.accounting import entities

OWNED = SMALL.parent / "owned"
NORMAL = "normal: {default: true}"
CHIP = INVENTORY / "others" / "chip"


def complaints(folder: Path) -> list[str]:
    return [str(one).partition("/inventory.yml:")[2].partition(": ")[2] for one in examine(folder).open]


def test_it_compiles_as_the_qos_written_by_hand(tmp_path: Path) -> None:
    each = f'{NORMAL}\n  "of_{{account}}": {{for_each: lab, max_wall: 3d, priority: 5, default_for: ["{{account}}"]}}'
    names = [name for name, account in load(OWNED).accounts.items() if account.entry.kind == "lab"]
    assert len(names) > 1
    hand = "".join(
        f"\n  of_{name}: {{max_wall: 3d, priority: 5, everybody: false, default_for: [{name}]}}" for name in names
    )
    once, by_hand = (
        changed(OWNED, tmp_path / "a", (NORMAL, each)),
        changed(OWNED, tmp_path / "b", (NORMAL, NORMAL + hand)),
    )
    assert {f"of_{name}" for name in names} < once.qos.keys()
    assert entities(once) == entities(by_hand)
    for name, node in once.nodes.items():
        assert files_for(once, node) == files_for(by_hand, by_hand.nodes[name])


def test_the_users_of_the_account_have_it_and_no_others() -> None:
    cluster = load(CHIP)
    labs = [name for name, account in cluster.accounts.items() if account.entry.kind == "lab"]
    for name, user in entities(cluster)["users"].items():
        for account, fields in user["accounts"].items():
            assert set(fields["qos"]) & set(labs) == {account} & set(labs), name


def test_a_new_account_has_its_qos_and_its_partition(tmp_path: Path) -> None:
    line = "  - {name: pi_rivers, kind: lab, gid: 5004, owns: c24-27}\n"
    cells = next(row for row in (CHIP / "inventory.yml").read_text().splitlines(True) if "name: pi_cells" in row)
    users = "  - {name: u-oceans1,"
    cluster = changed(
        CHIP,
        tmp_path,
        (cells, cells + line),
        ('owns: "c24-[25-27]"', 'owns: "c24-[25-26]"'),
        (users, f"  - {{name: u-rivers1, uid: 20009, account: pi_rivers}}\n{users}"),
    )
    assert cluster.partitions["pi_rivers"].entry.qos == ("pi_rivers",)
    assert "pi_rivers" in cluster.users["u-rivers1"].account_qos["pi_rivers"]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("lab_{account}: {for_each: lab, preempts: [gone]}", "error: qos.lab_{account}.preempts[0]: there is no QoS"),
        ("lab: {everybody: false, default_for: ['{account}']}", "error: qos.lab.default_for[0]: there is no account"),
    ],
)
def test_a_mistake_is_named_once_at_the_entry(entry: str, expected: str, tmp_path: Path) -> None:
    folder = copied(OWNED, tmp_path, (NORMAL, f"{NORMAL}\n  {entry}"))
    assert [line.startswith(expected) for line in complaints(folder)] == [True]


def test_the_line_of_the_entry_is_explained(gpupool: Callable[..., Any], tmp_path: Path) -> None:
    entry = '  "of_{account}": {for_each: lab, max_wall: 3d, preempts: [], default_for: ["{account}"]}'
    copied(OWNED, tmp_path, (NORMAL, f"{NORMAL}\n{entry}"))
    place = f"inventory.yml:{(tmp_path / 'inventory.yml').read_text().splitlines().index(entry) + 1})"
    lines = gpupool("explain", tmp_path, "of_dm").out.splitlines()
    assert any(line.split()[:2] == ["max_wall", "3d"] and line.endswith(place) for line in lines)
    lines = gpupool("explain", tmp_path, "dm").out.splitlines()
    assert any(line.split()[:3] == ["default", "QoS", "of_dm"] and line.endswith(place) for line in lines)
