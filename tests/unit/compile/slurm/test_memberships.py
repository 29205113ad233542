"""Users in several accounts: associations, QoS by account, Unix groups, and access to partitions."""

from datetime import date
from pathlib import Path

from inventories import SMALL, changed
from submitted import LUAS, PARTITIONS, Plugin, pool

from gpupool.cluster.model import Cluster
from gpupool.compile.slurm.accounting import entities
from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.slurm.submit import job_submit_lua
from gpupool.compile.system.people import groups_for, managed_groups, people_for
from gpupool.rehearsal.expected import Expected
from gpupool.rehearsal.promises.limits import cases

ANN = "account: red}"
BOTH = (ANN, "account: red, accounts: [blue]}")
QOS = ("  normal: {default: true}", "  normal: {default: true}\n  long: {everybody: false, max_wall: 30d}")


def small(folder: Path, *replaced: tuple[str, str]) -> Cluster:
    return changed(SMALL, folder, *replaced)


def test_a_user_has_an_association_in_each_account_and_one_default(tmp_path: Path) -> None:
    ann = entities(small(tmp_path, BOTH))["users"]["ann"]
    assert ann["default_account"] == "red"
    assert list(ann["accounts"]) == ["red", "blue"]


def test_the_cap_of_each_lab_is_still_its_contribution(tmp_path: Path) -> None:
    accounts = entities(small(tmp_path, BOTH))["accounts"]
    assert {name: fields["GrpTRES"]["gres/gpu"] for name, fields in accounts.items()} == {"red": 10, "blue": 6}


def test_the_default_account_may_be_named_among_the_others(tmp_path: Path) -> None:
    cluster = small(tmp_path, (ANN, "account: red, accounts: [blue, red]}"))
    assert cluster.users["ann"].own_accounts == ("red", "blue")


def test_the_qos_of_an_account_is_allowed_there_only(tmp_path: Path) -> None:
    cluster = small(tmp_path, BOTH, QOS, ("contributed_gpus: 6}", "contributed_gpus: 6, qos: [long]}"))
    ann = entities(cluster)["users"]["ann"]["accounts"]
    assert (ann["red"]["qos"], ann["blue"]["qos"]) == (["normal"], ["long", "normal"])


def test_each_account_has_its_default_qos(tmp_path: Path) -> None:
    limited = "\n  few: {everybody: false, default_for: [blue], replaces: [normal], limits: {per_user: {gpu: 2}}}"
    cluster = small(tmp_path, BOTH, ("  normal: {default: true}", "  normal: {default: true}" + limited))
    ann = entities(cluster)["users"]["ann"]["accounts"]
    assert (ann["red"]["default_qos"], ann["blue"]["default_qos"]) == ("normal", "few")
    assert "few" not in ann["red"]["qos"]


def test_an_account_of_all_users_may_have_a_default_qos(tmp_path: Path) -> None:
    lent = "contributed_gpus: 6}\n  - {name: lent, kind: shared, members: all, limits: {group: {gpu: 0}}}"
    idle = "  normal: {default: true}\n  idle: {default_for: [lent]}"
    cluster = small(tmp_path, ("contributed_gpus: 6}", lent), ("  normal: {default: true}", idle))
    ann = entities(cluster)["users"]["ann"]["accounts"]
    assert (ann["red"]["default_qos"], ann["lent"]["default_qos"]) == ("normal", "idle")


def test_a_grant_is_valid_in_every_account_until_its_day(tmp_path: Path) -> None:
    granted = "account: red, accounts: [blue], grants: [{qos: long, until: 2030-01-31}]}"
    cluster = small(tmp_path, QOS, (ANN, granted))
    for day, has in ((date(2030, 1, 31), True), (date(2030, 2, 1), False)):
        ann = entities(cluster, day)["users"]["ann"]["accounts"]
        assert [("long" in ann[name]["qos"]) for name in ("red", "blue")] == [has, has]


def test_a_member_is_in_the_group_of_each_account(tmp_path: Path) -> None:
    cluster = small(tmp_path, BOTH)
    (ann,) = people_for(cluster, cluster.nodes["gpu-1"])
    assert (ann.group, ann.groups) == ("red", ("blue",))


def test_a_user_who_leaves_an_account_leaves_its_group(tmp_path: Path) -> None:
    assert managed_groups(small(tmp_path)) == ["red", "blue"] == list(groups_for(small(tmp_path)))


def test_a_user_without_a_group_of_the_default_account_is_in_people_first(tmp_path: Path) -> None:
    cluster = small(tmp_path, BOTH, ("kind: lab, gid: 5001", "kind: lab"))
    assert cluster.groups_of(cluster.users["ann"]) == ("people", "blue")


def test_groups_of_a_partition_are_slurms_own_key(tmp_path: Path) -> None:
    cluster = small(tmp_path, ("allow_accounts: [red]", "allow_groups: [red]"))
    (line,) = (line for line in slurm_conf(cluster).splitlines() if line.startswith("PartitionName=red "))
    assert " AllowGroups=red " in line
    assert "AllowAccounts" not in line


def _fitting(folder: Path, groups: str) -> Plugin:
    text = job_submit_lua(
        pool(
            folder,
            where="fit",
            instead={"allow_accounts: [red]": f"deny_accounts: [overcap], allow_groups: [{groups}]", **OTHERS},
        )
    )
    assert text is not None
    return Plugin(text, LUAS[0], PARTITIONS)


OTHERS = {"keys: homes": "keys: homes, other_groups: [course]"}


def test_a_job_without_a_partition_is_sent_where_its_users_groups_may_submit(tmp_path: Path) -> None:
    plugin = _fitting(tmp_path, "red")
    assert "red-only" in plugin.submit(user_name="ann").set["partition"]
    assert "red-only" not in plugin.submit(user_name="bob", default_account="blue").set["partition"]


def test_no_job_is_sent_to_a_partition_whose_group_only_a_directory_knows(tmp_path: Path) -> None:
    """If one of several partitions refuses a job's group, Slurm refuses the whole job."""
    assert "red-only" not in _fitting(tmp_path, "course").submit(user_name="ann").set["partition"]


def test_a_lab_whose_members_are_all_guests_is_rehearsed_with_them(tmp_path: Path) -> None:
    labs = {lab.name: [user.name for user in lab.members] for lab in Expected(small(tmp_path, BOTH)).labs}
    assert labs == {"red": ["ann"], "blue": ["ann"]}


def test_a_guest_with_a_user_limit_claims_gpus_for_one_lab(tmp_path: Path) -> None:
    limited = ("  normal: {default: true}", "  normal: {default: true, limits: {per_user: {gpu: 4}}}")
    assert [lab.name for lab in Expected(small(tmp_path, BOTH, limited)).labs] == ["red"]


def test_the_job_above_a_users_limit_is_tried_in_another_account(tmp_path: Path) -> None:
    limited = ("  normal: {default: true}", "  normal: {default: true, limits: {per_user: {gpu: 4}}}")
    first = next(case for case in cases(Expected(small(tmp_path, BOTH, limited))) if "GPU" in case.text)
    assert ({wish.account for wish in first.fill}, first.above.account) == ({"red"}, "blue")
