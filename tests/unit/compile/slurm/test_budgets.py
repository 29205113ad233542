"""Budgets: the submit plugin in a real Lua, the settings of slurm.conf and slurmdbd, and the files of each node."""

import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from inventories import INVENTORY, changed, cluster_at
from submitted import LUAS, NO_VAL, Plugin

from gpupool.cluster.load import load
from gpupool.compile import files_of
from gpupool.compile.slurm.accounting import entities
from gpupool.compile.slurm.budgets import FILE, prices
from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.slurm.submit import job_submit_lua
from gpupool.compile.system.budgets import COMMAND, SERVICE, TIMER

PARTITIONS = {"nvidia": 2880, "nvidia_dev": 20, "gdl": 2880}
WHOLE = {"shared": 0}
#: 10 UA are left of 100, of which running jobs may need 4; bob has a part of 2.
LINES = "\n".join(
    ["red\t\tred\t360000\t324000\t14400", "red\tbob\tbob\t7200\t0\t0", "part\t\tred\t360000\t324000\t14400"]
)


@pytest.fixture(params=LUAS, ids=lambda lua: lua.__name__.rpartition(".")[2])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Plugin:
    """The plugin of a cluster with prices, which reads these budgets."""
    lua: ModuleType = request.param
    file = tmp_path / "budgets"
    file.write_text(f"{int(time.time())}\n{LINES}")
    text = job_submit_lua(cluster_at(INVENTORY / "santos-dumont"))
    assert text is not None
    return Plugin(text.replace(FILE, str(file)), lua, PARTITIONS)


def ask(project: Plugin, **fields: Any) -> tuple[bool, str]:
    answer = project.submit(**{"work_dir": "/scratch", "partition": "nvidia", **fields})
    assert answer.logged == []
    return answer.accepted, " ".join(answer.told)


@pytest.mark.promise("SDU-027")
def test_the_refusal_names_the_budget_and_the_price(project: Plugin) -> None:
    assert ask(project, time_limit=10, **WHOLE) == (True, "")
    accepted, message = ask(project, time_limit=17, **WHOLE)
    assert not accepted
    assert message == (
        "Account red has 10.00 UA left of its budget of 100.00 UA, and this job may cost up to 10.20 UA: "
        "request less time (--time) or less of the cluster."
    )


@pytest.mark.promise("SDU-027")
def test_a_user_whose_job_may_wait_for_running_jobs_gets_a_message(project: Plugin) -> None:
    accepted, message = ask(project, time_limit=15, **WHOLE)
    assert accepted
    assert (
        message
        == "Account red has 10.00 UA left, of which running jobs may need 4.00 UA: this job may wait until they end."
    )


@pytest.mark.promise("SDU-025", "SDU-026")
@pytest.mark.parametrize(
    ("fields", "cost"),
    [
        ({"time_limit": 60, **WHOLE}, "36.00"),
        ({"time_limit": 60, "partition": "gdl", **WHOLE}, "80.00"),
        ({"time_limit": 20, "partition": "nvidia,gdl", **WHOLE}, "26.67"),
        ({"partition": "nvidia_dev", **WHOLE}, "12.00"),
        ({"time_limit": 30, "min_nodes": 1, "max_nodes": 3, **WHOLE}, "54.00"),
        ({"time_limit": 30, "num_tasks": 25, **WHOLE}, "36.00"),
        ({"time_limit": 30, "num_tasks": 4, "ntasks_per_node": 2, **WHOLE}, "36.00"),
        ({"time_limit": 60, "num_tasks": 3, "cpus_per_task": 5}, "22.00"),
        ({"time_limit": 60, "min_nodes": 8, "max_nodes": 8}, "12.00"),
        ({"time_limit": 60, "array_inx": "1-11"}, "11.00"),
        ({"time_limit": 60, "array_inx": "0-40:4,50%2"}, "12.00"),
    ],
)
def test_a_job_is_priced_by_its_largest_possible_allocation(project: Plugin, fields: dict[str, Any], cost: str) -> None:
    accepted, message = ask(project, **fields)
    assert not accepted
    assert f"may cost up to {cost} UA" in message


def test_a_budget_of_a_user_limits_that_user(project: Plugin) -> None:
    assert ask(project, time_limit=5, **WHOLE) == (True, "")
    accepted, message = ask(project, time_limit=5, user_name="bob", **WHOLE)
    assert not accepted
    assert message.startswith("User bob has 2.00 UA left of its budget of 2.00 UA")


def test_an_account_is_charged_to_the_budget_above_it(project: Plugin) -> None:
    assert "Account red has" in ask(project, account="Part", time_limit=30, **WHOLE)[1]
    assert ask(project, account="blue", time_limit=2880, **WHOLE) == (True, "")


def test_a_change_is_priced_and_a_running_job_is_left_alone(project: Plugin) -> None:
    record = {
        "account": "red",
        "partition": "nvidia",
        "num_tasks": 24,
        "time_limit": 10,
        "job_state": 0,
        "user_name": "ann",
    }
    assert project.modify({"time_limit": 5}, record).accepted
    assert not project.modify({"time_limit": 30}, record).accepted
    assert not project.modify({"partition": "gdl", "time_limit": 15}, record).accepted
    assert project.modify({"time_limit": 30}, {**record, "job_state": 1}).accepted
    assert project.modify({"time_limit": 30}, record, uid=0).accepted


@pytest.mark.parametrize("text", [None, "", "red\t\n", LINES, f"1\n{LINES}"])
def test_without_a_fresh_file_the_plugin_accepts_and_slurm_decides(
    project: Plugin, tmp_path: Path, text: str | None
) -> None:
    (tmp_path / "budgets").unlink()
    if text is not None:
        (tmp_path / "budgets").write_text(text)
    assert ask(project, time_limit=2880, **WHOLE) == (True, "")


def test_a_job_without_an_end_is_refused(project: Plugin) -> None:
    assert not ask(project, time_limit=0xFFFFFFFF)[0]
    assert not ask(project, time_limit=NO_VAL, **WHOLE)[0], "two days of a node"


@pytest.mark.promise("SDU-027")
def test_usage_never_decays_and_every_job_has_a_time_limit() -> None:
    cluster = cluster_at(INVENTORY / "santos-dumont")
    text = slurm_conf(cluster)
    for line in ("PriorityDecayHalfLife=0", "PriorityUsageResetPeriod=NONE", "PriorityCalcPeriod=1"):
        assert f"\n{line}\n" in text
    assert "PartitionName=nvidia_dev " in text
    assert text.count(" DefaultTime=") == len(cluster.partitions)
    assert " MaxTime=00:20:00 DefaultTime=00:20:00 " in text
    assert entities(cluster)["accounts"]["projeto"]["GrpTRESMins"] == {"billing": 100_000 * 60}
    others = slurm_conf(cluster_at(INVENTORY / "skynet"))
    assert "Decay" not in others
    assert "DefaultTime" not in others


def test_heads_have_the_table_and_controllers_the_file_for_the_plugin() -> None:
    cluster = cluster_at(INVENTORY / "santos-dumont")
    paths = {name: {file.path for file in files_of(cluster, node, "budgets")} for name, node in cluster.nodes.items()}
    assert COMMAND in paths["login"]
    assert not {SERVICE, TIMER} & paths["login"]
    assert {COMMAND, SERVICE, TIMER} <= paths["sdumont-ctl"]
    assert not paths["sdumont3000"] | paths["sdumont-fs"]


TYPED = """
schema: 1
cluster: {name: typed, domain: typed.example, network: 10.90.0.0/16}
gpu_types: {a40: {models: [A40]}, h100: {models: [H100]}}
hardware: {box: {cpus: 64, memory: 512G}}
nodes:
  - {name: ctl, address: 10.90.1.1, roles: [head, controller, database]}
  - {name: n1, address: 10.90.2.1, roles: [compute], hardware: box, gpus: {a40: 8}}
  - {name: n2, address: 10.90.2.2, roles: [compute], hardware: box, gpus: {h100: 4}}
accounts:
  - {name: red, kind: project, gid: 5001, budget: 100}
users:
  - {name: ann, uid: 20001, account: red}
qos: {normal: {default: true}}
partitions:
  - {name: all, nodes: "@compute", max_time: 2d, billing: {cpu: 0.5, gpus: {h100: 10, a40: 2}}}
  - {name: old, nodes: "n1", max_time: 2d, billing: {cpu: 1.0}}
  - {name: large, nodes: "n1", max_time: 2d, billing: {mem: 0.25}}
scheduler: {default_partition: all}
access: {keys: homes}
"""


@pytest.mark.parametrize(
    ("asked", "units"),
    [
        ({"tres_per_job": "gres/gpu:h100:2"}, 20),
        ({"tres_per_node": "gres/gpu:a40:2", "min_nodes": 3}, 13),
        ({"tres_per_job": "gres/gpu:a40:1,gres/gpu:h100:1"}, 12),
        ({"tres_per_job": "gres/gpu:1"}, 10),
        ({"tres_per_job": "gres/gpu:t4:1"}, 0),
        ({"num_tasks": 6}, 3),
        ({"min_nodes": 2, **WHOLE}, 2 * (32 + 40)),
        ({"partition": "old", "tres_per_job": "gres/gpu:h100:2"}, 1),
        # the price is for a GB, and Slurm's memory is in MiB
        ({"partition": "large", "min_mem_per_node": 8 * 1024}, 2),
    ],
)
@pytest.mark.parametrize("lua", LUAS, ids=lambda lua: lua.__name__.rpartition(".")[2])
def test_a_budget_knows_the_price_of_each_type(
    tmp_path: Path, lua: ModuleType, asked: dict[str, Any], units: int
) -> None:
    """A GPU without a type may be the most expensive; a whole node costs as much as its most expensive resource."""
    inventory, file = tmp_path / "typed", tmp_path / "budgets"
    inventory.mkdir()
    (inventory / "inventory.yml").write_text(TYPED)
    text = job_submit_lua(load(inventory))
    assert text is not None
    for left, enough in ((units * 60, True), (units * 60 - 1, False)) if units else ((0, True),):
        file.write_text(f"{int(time.time())}\nred\t\tred\t{left}\t0\t0")
        project = Plugin(text.replace(FILE, str(file)), lua, {"all": 2880, "old": 2880, "large": 2880})
        assert ask(project, **{"partition": "all", "time_limit": 1, **asked})[0] is enough


def test_types_have_prices_in_slurm_conf(tmp_path: Path) -> None:
    (tmp_path / "inventory.yml").write_text(TYPED)
    conf = slurm_conf(load(tmp_path))
    assert "TRESBillingWeights=CPU=0.5,GRES/gpu:h100=10.0,GRES/gpu:a40=2.0 " in conf
    assert "TRESBillingWeights=CPU=1.0 " in conf


def test_a_partition_of_whole_nodes_is_priced_for_whole_nodes(tmp_path: Path) -> None:
    queue = '{name: nvidia_dev, nodes: "@gpu:k40", '
    cluster = changed(INVENTORY / "santos-dumont", tmp_path, (queue, f"{queue}exclusive: job, "))
    found = prices(cluster)
    assert found["nvidia_dev"]["exclusive"] is True
    assert "exclusive" not in found["nvidia"]
