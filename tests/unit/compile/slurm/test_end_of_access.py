"""The end of a user's access: the settings of slurmdbd and of the nodes, and their first day."""

from datetime import date, timedelta
from pathlib import Path

import pytest
from inventories import SMALL, changed

from gpupool.cluster.model import Cluster
from gpupool.compile.slurm.accounting import entities
from gpupool.compile.system.people import people_for
from gpupool.rehearsal.expected import Expected

LAST = date(2030, 1, 31)


def small(folder: Path, until: date = LAST) -> Cluster:
    ann = f"account: red, accounts: [blue], coordinator: true, until: {until}}}"
    return changed(SMALL, folder, ("account: red}", ann), ("scheduler: {", "scheduler: {max_submitted_jobs: 50, "))


@pytest.mark.parametrize(("day", "most"), [(LAST, 50), (LAST + timedelta(days=1), 0)])
def test_from_the_next_day_on_no_association_may_submit(tmp_path: Path, day: date, most: int | None) -> None:
    ann = entities(small(tmp_path), day)["users"]["ann"]["accounts"]
    assert {name: fields.get("GrpSubmit") for name, fields in ann.items()} == {"red": most, "blue": most}
    assert {fields["MaxSubmit"] for fields in ann.values()} == {50}


def test_the_associations_are_kept_for_jobs_and_their_records(tmp_path: Path) -> None:
    before, after = (entities(small(tmp_path), LAST + timedelta(days=days)) for days in (0, 1))
    assert before["users"].keys() == after["users"].keys()
    assert before["users"]["ann"]["accounts"].keys() == after["users"]["ann"]["accounts"].keys()


def test_a_coordinator_loses_the_rights_with_the_access(tmp_path: Path) -> None:
    days = (LAST, LAST + timedelta(days=1))
    assert [entities(small(tmp_path), day)["accounts"]["red"]["coordinators"] for day in days] == [["ann"], []]


def test_the_nodes_refuse_the_login_the_day_after_without_an_apply(tmp_path: Path) -> None:
    cluster = small(tmp_path)
    (ann,) = people_for(cluster, cluster.nodes["gpu-1"])
    assert ann.ends == "2030-02-01"


def test_a_rehearsal_uses_no_user_whose_access_has_ended(tmp_path: Path) -> None:
    yesterday = date.today() - timedelta(days=1)
    assert [lab.name for lab in Expected(small(tmp_path / "a")).labs] == ["red", "blue"]
    assert Expected(small(tmp_path / "b", yesterday)).labs == ()
