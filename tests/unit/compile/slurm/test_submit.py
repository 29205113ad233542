"""The submit plugin, in a real Lua: values that it sets, refusals with their messages, and jobs it leaves alone."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from inventories import cluster_at
from submitted import ALL, LUAS, MEMORY, NO_VAL16, PARTITIONS, REPLACES, Plugin, plugin, pool

from gpupool.compile import files_for
from gpupool.compile.slurm.submit import job_submit_lua, wanted

ROOT = Path(__file__).parents[4]
INVENTORIES = sorted(path.parent.name for path in (ROOT / "inventory").glob("*/inventory.py"))


@pytest.fixture(scope="module", params=LUAS, ids=lambda lua: lua.__name__.rpartition(".")[2])
def everything(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Plugin:
    return plugin(tmp_path_factory.mktemp("pool"), ALL, request.param, replaces=REPLACES)


# The file contains only the rules that are needed

# of the pool: no GPUs, so no labs that contributed any, and no preemptable partition
NOTHING = {
    **dict.fromkeys((", gpus: {a40: 8}", ", gpus: {2080_ti: 8}"), ""),
    "preemptable: true, grace: 1m, allow_accounts": "deny_accounts",
    "kind: lab, gid: 5001, contributed_gpus: 10": "kind: group, gid: 5001",
    "kind: lab, gid: 5002, contributed_gpus: 6": "kind: group, gid: 5002",
    **dict.fromkeys(("{max_wall: 2d}", "{max_wall: 7d}"), "{}"),
}


def test_without_rules_there_is_no_plugin(tmp_path: Path) -> None:
    cluster = pool(tmp_path, instead=NOTHING)
    assert (wanted(cluster), job_submit_lua(cluster)) == (False, None)
    assert not [file for node in cluster.nodes.values() for file in files_for(cluster, node) if "submit" in file.path]


@pytest.mark.parametrize(
    ("scheduler", "more", "rules"),
    [
        ("export_fix: true", {}, "export_fix"),
        ("", {"where": "per_user"}, "user_partitions partition_names"),
        ("", {"where": "fit"}, "fitting"),
        ("", {"where": "none"}, "partition_names"),
        ("refuse_submit_from: [/prj]", {}, "refused_folders"),
        ("untyped_gpus: refuse", {}, "gpu_types"),
        ("", {"replaces": REPLACES}, "replaced accounts"),
        (MEMORY, {}, "memory_per_gpu memory_per_cpu step_down"),
        ("max_memory: {per_gpu: 45G}", {}, "most_memory"),
        ("warn_cpus_per_gpu: {default: 7}", {}, "recommended_cpus"),
        ("max_cpus_per_gpu: {default: 7}", {}, "most_cpus"),
        (
            "",
            {"instead": {"name: long, nodes": "name: long, default_qos: long, nodes"}},
            "partition_limits partition_qos",
        ),
    ],
)
@pytest.mark.parametrize("luas", LUAS)
def test_each_rule_works_alone(
    tmp_path: Path, scheduler: str, more: dict[str, str], rules: str, luas: ModuleType
) -> None:
    cluster = pool(tmp_path, scheduler, **more)
    text = job_submit_lua(cluster) or ""
    alone = Plugin(text, luas, PARTITIONS)
    assert alone.loaded == 0
    # four come with GPUs of labs and preemptable partitions, one with long QoS, two with every plugin
    always = ("refuse_fatal", "refuse_repeated", "preemptable_partitions", "claimed", "timed", "sizes", "no_mail")
    assert sorted(alone.rules) == sorted([*rules.split(), *always])
    for fields in ({}, {"tres_per_node": "gres/gpu:1", "qos": "short"}):
        assert alone.submit(**fields).logged == alone.modify(fields, {"account": "red"}).logged == []


@pytest.mark.parametrize("name", INVENTORIES)
@pytest.mark.parametrize("luas", LUAS)
def test_every_inventory_has_a_plugin_that_loads(name: str, luas: ModuleType) -> None:
    cluster = cluster_at(ROOT / "inventory" / name)
    on = {node.name for node in cluster.nodes.values() for file in files_for(cluster, node) if "submit" in file.path}
    assert on == ({node.name for node in cluster.controllers} if wanted(cluster) else set())
    if text := job_submit_lua(cluster):
        made = Plugin(text, luas)
        assert (made.loaded, made.submit(tres_per_node="gres/gpu:1").logged) == (0, [])


# The partition of a job


@pytest.mark.promise("GCP-008")
def test_a_user_has_a_default_partition(tmp_path: Path) -> None:
    asked = plugin(tmp_path, where="per_user")
    assert asked.submit().set == {"partition": "debug"}
    assert asked.submit(partition="long").set == {}
    without = asked.submit(user_name="bob")
    assert (without.set, without.told) == (
        {},
        ["Specify a partition with --partition (-p): short, long, red-only, overcap, debug."],
    )


@pytest.mark.promise("ARA-017")
def test_a_job_without_a_partition_gets_all_in_which_it_fits(tmp_path: Path) -> None:
    fitting = plugin(tmp_path, where="fit")
    assert fitting.submit().set == {"partition": "short,long,red-only,debug"}
    assert fitting.submit(default_account="blue").set == {"partition": "short,long,debug"}
    assert fitting.submit(account="overcap").set == {}, "overcap is used only on request"
    assert fitting.submit(partition="long").set == {}


@pytest.mark.parametrize("luas", LUAS)
def test_a_job_is_only_sent_to_partitions_with_its_gpus(tmp_path: Path, luas: ModuleType) -> None:
    """A job in a partition without its GPUs waits there with the reason BadConstraints."""
    parts = {
        'name: short, nodes: "@compute"': "name: short, nodes: n1",
        'name: debug, nodes: "@compute"': "name: debug, nodes: n3",
        "accounts:\n": "  - {name: n3, address: 10.90.2.3, roles: [compute], hardware: box}\naccounts:\n",
    }
    fitting = plugin(tmp_path, luas=luas, where="fit", instead=parts)
    assert fitting.submit().set == {"partition": "short,long,red-only,debug"}
    for field in ("tres_per_job", "tres_per_node", "tres_per_task"):
        assert fitting.submit(**{field: "gres/gpu:1"}).set["partition"] == "short,long,red-only"
        assert fitting.submit(**{field: "gres/gpu:a40:1"}).set["partition"] == "short,long,red-only"
        assert fitting.submit(**{field: "gres/gpu:2080_ti:1"}).set["partition"] == "long,red-only"
    unknown = fitting.submit(tres_per_node="gres/gpu:h100:1").set["partition"]
    assert unknown == "short,long,red-only,debug", "Slurm's own message has the reason"


ASSIGNED = {
    "name: debug, nodes": "name: debug, users: assigned, nodes",
    "default_partition: debug}": "partitions: [debug]}",
}


@pytest.mark.promise("GCP-007")
@pytest.mark.parametrize("luas", LUAS)
def test_only_users_who_are_assigned_to_a_partition_use_it(tmp_path: Path, luas: ModuleType) -> None:
    asked = plugin(tmp_path, luas=luas, instead=ASSIGNED)
    assert asked.submit(partition="debug").accepted
    assert asked.submit(partition="short", user_name="bob").accepted
    for partition in ("debug", "short,debug"):
        refused = asked.submit(partition=partition, user_name="bob")
        assert not refused.accepted
        assert refused.told == ["Partition debug is only for users who are assigned to it: submit to another one (-p)."]
    assert not asked.modify({"partition": "debug"}, {"user_name": "bob", "partition": "short"}).accepted
    assert asked.modify({"partition": "debug"}, {"user_name": "ann", "partition": "short"}).accepted
    assert asked.modify({"partition": "debug"}, {"user_name": "bob"}, uid=0).accepted
    assert not asked.submit(partition="debug", user_name=None).accepted, "it must not be open where Slurm tells no name"


def test_without_a_partition_a_job_is_not_sent_there(tmp_path: Path) -> None:
    text = job_submit_lua(pool(tmp_path, instead=ASSIGNED))
    assert text is not None
    default = Plugin(text, partitions={"debug": 240})
    assert default.submit().accepted
    assert not default.submit(user_name="bob").accepted
    fitting = plugin(tmp_path, where="fit", instead=ASSIGNED)
    assert fitting.submit().set == {"partition": "short,long,red-only,debug"}
    assert fitting.submit(user_name="bob", default_account="blue").set == {"partition": "short,long"}


@pytest.mark.promise("SDU-028")
def test_a_job_without_a_partition_gets_a_list_of_partitions(tmp_path: Path) -> None:
    silent = plugin(tmp_path, where="none")
    assert silent.submit(partition="short").told == []
    answer = silent.submit()  # refused by Slurm itself, which has no default partition
    assert (answer.accepted, answer.set) == (True, {})
    assert answer.told[0].startswith("Specify a partition")


@pytest.mark.promise("SDU-042")
@pytest.mark.parametrize(("folder", "accepted"), [("/prj", False), ("/prj/p/u", False), ("/prj2", True), ("/", True)])
def test_a_working_directory_that_nodes_do_not_have_is_refused(everything: Plugin, folder: str, accepted: bool) -> None:
    answer = everything.submit(work_dir=folder)
    assert answer.accepted is accepted
    assert answer.told == [] if accepted else "do not have /prj:" in answer.told[0]
    assert everything.modify({"work_dir": folder}, {}).accepted is accepted


@pytest.mark.promise("SKY-106")
@pytest.mark.parametrize("names", ["lr=1e-4,gamma=1", "HOME", "ALLOC=1"])
def test_exported_variables_leave_the_rest_in_steps(everything: Plugin, names: str) -> None:
    answer = everything.submit(environment={"SLURM_EXPORT_ENV": names})
    assert answer.environment == {"SLURM_EXPORT_ENV": "ALL"}


@pytest.mark.parametrize("names", ["ALL", "ALL,x=1", "x=1,ALL", "NONE", "NIL", None])
def test_other_exports_are_left_as_they_are(everything: Plugin, names: str | None) -> None:
    assert everything.submit(environment={"SLURM_EXPORT_ENV": names} if names else {}).environment == {}
    assert everything.submit(environment={"SLURM_EXPORT_ENV": "x=1"}, script=None).environment == {}, "srun has none"


# QoS


@pytest.mark.promise("SKY-158", "SKY-208")
@pytest.mark.parametrize(
    ("asked", "becomes"),
    [
        ({"qos": "short"}, {"qos": "limited", "time_limit": 2880}),
        ({"qos": "SHORT", "account": "RED"}, {"qos": "limited", "time_limit": 2880}),
        ({"qos": "long", "partition": "long"}, {"qos": "limited", "time_limit": 10080}),
        ({"qos": "long"}, {"qos": "limited", "time_limit": 2880}),  # the default partition has a shorter limit
        ({"qos": "long", "partition": "long,debug"}, {"qos": "limited", "time_limit": 240}),
        ({"qos": "short,long", "partition": "long"}, {"qos": "limited", "time_limit": 10080}),
        ({"qos": "short", "time_limit": 60}, {"qos": "limited"}),
        ({"qos": "normal"}, {"qos": "limited"}),
        ({"qos": "limited"}, {}),
        ({"qos": "debug"}, {}),
        ({}, {}),
        ({"qos": "short", "account": "overcap"}, {}),
        ({"qos": "short", "default_account": "blue"}, {}),
    ],
    ids=str,
)
def test_a_limit_cannot_be_avoided_with_another_qos(
    everything: Plugin, asked: dict[str, Any], becomes: dict[str, Any]
) -> None:
    answer = everything.submit(**asked, min_mem_per_cpu=1024)
    assert (answer.accepted, answer.set, answer.told) == (True, becomes, [])


@pytest.mark.promise("SKY-158")
def test_a_replaced_qos_keeps_its_time(everything: Plugin) -> None:
    answer = everything.submit(qos="short", partition="long", time_limit=3 * 1440)
    assert not answer.accepted
    assert answer.told == ["The time limit of QoS short is 48 hours: request less with --time."]


@pytest.mark.promise("SKY-158")
def test_a_limit_cannot_be_avoided_by_changing_qos_or_account(everything: Plugin) -> None:
    waiting = {"account": "red", "qos": "limited", "time_limit": 60}
    assert everything.modify({"qos": "short"}, waiting).set == {"qos": "limited"}
    assert everything.modify({"qos": "short"}, waiting, uid=0).set == {}
    assert everything.modify({"account": "red"}, {**waiting, "account": "overcap", "qos": "short"}).set == {
        "qos": "limited"
    }
    assert everything.modify({"account": "overcap"}, waiting).set == {}
    assert not everything.modify({"qos": "short"}, {**waiting, "time_limit": 10080}).accepted
    assert everything.modify({"time_limit": 30}, {**waiting, "qos": "short"}).set == {}


@pytest.mark.parametrize(("kinds", "has_message"), [(None, False), (0, False), (NO_VAL16, False), (0x000E, True)])
def test_a_job_with_a_mail_type_gets_a_message_and_runs(
    everything: Plugin, kinds: int | None, has_message: bool
) -> None:
    answer = everything.submit(**({} if kinds is None else {"mail_type": kinds}))
    assert answer.accepted
    assert answer.told == (["This cluster sends no mail: --mail-type has no effect."] if has_message else [])


def test_a_cluster_with_a_mail_program_sends_no_message(tmp_path: Path) -> None:
    cluster = pool(
        tmp_path,
        "export_fix: true",
        instead={"testbed: {": "slurm: {parameters: {MailProg: /usr/bin/mail}}\ntestbed: {"},
    )
    assert "no_mail" not in Plugin(job_submit_lua(cluster) or "").rules
