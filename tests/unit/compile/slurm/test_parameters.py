"""Keys of an inventory in Slurm's own words are in Slurm's files once, and unchanged."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from inventories import INVENTORY, SMALL, changed, cluster_at
from made_up import after

from gpupool.cluster.model import Cluster
from gpupool.compile.slurm.accounting import entities
from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.slurm.dbd import slurmdbd_conf
from gpupool.compile.slurm.gres import cgroup_conf, gres_conf
from gpupool.compile.slurm.parameters import merged
from gpupool.compile.slurm.submit import job_submit_lua
from gpupool.compile.system.packages import packages_for
from gpupool.operations.accounting import difference, normal
from gpupool.rehearsal.twin.compiled import of_version
from gpupool.slurm.keys.tables import keys
from gpupool.slurm.releases import RELEASES

ALL = sorted(path.parent.name for path in INVENTORY.glob("*/inventory.py"))


def test_a_key_that_gpupool_writes_too_is_written_once_with_the_inventorys_value(tmp_path: Path) -> None:
    cluster = changed(
        SMALL, tmp_path, ("scheduler:", "slurm: {parameters: {slurmdtimeout: 600, KillWait: 60}}\nscheduler:")
    )
    lines = slurm_conf(cluster).splitlines()
    assert [line for line in lines if line.lower().startswith("slurmdtimeout")] == ["slurmdtimeout=600"]
    assert lines.count("KillWait=60") == 1


def test_options_of_a_list_are_added_and_replace_options_of_the_same_name() -> None:
    ours = "SchedulerParameters=bf_continue,bf_interval=2\nSchedulerParameters=bf_window=99,bf_interval=30\n"
    wanted = {"SchedulerParameters": "bf_window=99,bf_interval=30"}
    assert merged(ours, wanted) == "SchedulerParameters=bf_continue,bf_window=99,bf_interval=30\n"


@pytest.mark.parametrize(
    "key",
    [
        *("SchedulerParameters", "SlurmctldParameters", "SlurmdParameters", "LaunchParameters", "PrologFlags"),
        *("PreemptParameters", "AuthInfo", "AccountingStorageTRES", "AccountingStorageEnforce"),
    ],
)
def test_lists_of_options_are_known(key: str) -> None:
    assert merged(f"{key}=one\n{key}=two\n", {key: "two"}) == f"{key}=one,two\n"


def test_a_value_with_blanks_is_in_quotes(tmp_path: Path) -> None:
    options = "'--interactive --pty'"
    cluster = changed(
        SMALL, tmp_path, ("scheduler:", f"slurm: {{parameters: {{InteractiveStepOptions: {options}}}}}\nscheduler:")
    )
    assert 'InteractiveStepOptions="--interactive --pty"\n' in slurm_conf(cluster)


def test_partitions_and_nodes_have_further_keys_on_their_lines(tmp_path: Path) -> None:
    cluster = changed(
        SMALL,
        tmp_path,
        ("max_time: 2d", "max_time: 2d\n    parameters: {OverSubscribe: 'FORCE:2', LLN: true, State: DRAIN}"),
        ("cpus_kept_per_gpu: 6}", "cpus_kept_per_gpu: 6, parameters: {Port: 7001, CpuBind: core}}"),
        ("hardware: box,", "hardware: box, parameters: {port: 7002},"),
    )
    text = slurm_conf(cluster)
    (partition,) = (line for line in text.splitlines() if line.startswith("PartitionName=all"))
    assert partition.endswith(" OverSubscribe=FORCE:2 LLN=yes State=DRAIN")
    assert "State=UP" not in partition
    nodes = [line for line in text.splitlines() if line.startswith("NodeName=gpu")]
    assert nodes
    assert all(line.endswith(" State=UNKNOWN CpuBind=core port=7002") for line in nodes)


def test_cgroup_and_slurmdbd_have_further_keys(tmp_path: Path) -> None:
    text = "cgroup: {parameters: {ConstrainSwapSpace: true}}, slurmdbd: {parameters: {PurgeJobAfter: 12months}}"
    cluster = changed(SMALL, tmp_path, ("scheduler:", f"slurm: {{{text}}}\nscheduler:"))
    assert cgroup_conf(cluster).endswith("ConstrainRAMSpace=yes\nConstrainSwapSpace=yes\n")
    assert slurmdbd_conf(cluster).endswith("StorageLoc=slurm_acct_db\nPurgeJobAfter=12months\n")


def test_qos_and_accounts_have_further_limits_and_a_second_look_finds_no_difference(tmp_path: Path) -> None:
    cluster = changed(
        SMALL,
        tmp_path,
        (
            "{default: true}",
            "{default: true, parameters: {UsageFactor: 2, flags: noreserve, MaxJobsAccruePerAccount: 90}}",
        ),
        ("contributed_gpus: 10}", "contributed_gpus: 10, parameters: {MaxJobs: 4, GrpTRESRunMins: cpu=100}}"),
    )
    wanted = entities(cluster)
    assert wanted["qos"]["normal"]["UsageFactor"] == 2.0
    assert wanted["qos"]["normal"]["Flags"] == ["DenyOnLimit", "NoReserve"]
    assert wanted["qos"]["normal"]["MaxJobsAccruePA"] == 90
    assert wanted["accounts"]["red"]["MaxJobs"] == 4
    clean = normal(wanted)
    assert clean["accounts"]["red"]["GrpTRESRunMins"] == {"cpu": 100}
    now = {"elsewhere": [], "partitions": [], "jobs": [], **clean, "cluster": [clean["cluster"]]}
    now["users"] = {name: {**user, "partitions": {}} for name, user in clean["users"].items()}
    assert difference(now, clean) == []
    before = {**now, "accounts": {**now["accounts"], "red": {**now["accounts"]["red"], "MaxJobs": 9}}}
    (step,) = difference(before, clean)
    assert step.settings == ("MaxJobs=4",)


@pytest.mark.parametrize("folder", ALL)
def test_every_key_that_is_written_is_known_to_slurm(folder: str) -> None:
    assert list(unknown_keys(cluster_at(INVENTORY / folder))) == []


@pytest.mark.parametrize("folder", ["example", "skynet"])
@pytest.mark.parametrize("release", RELEASES)
def test_every_key_that_is_written_for_a_release_is_known_to_it(release: str, folder: str) -> None:
    assert list(unknown_keys(of_version(cluster_at(INVENTORY / folder), release))) == []


@pytest.mark.parametrize("older", RELEASES)
def test_a_release_between_two_has_the_files_of_the_older(older: str) -> None:
    cluster = cluster_at(INVENTORY / "skynet")
    made = after(older)
    for files in (slurm_conf, cgroup_conf, gres_conf, job_submit_lua):
        assert files(of_version(cluster, made)) == files(of_version(cluster, older))
    for node in (cluster.having(role)[0] for role in ("controller", "head", "compute")):
        assert packages_for(of_version(cluster, made), node) == packages_for(of_version(cluster, older), node)


def unknown_keys(cluster: Cluster) -> Iterator[str]:
    """Yield the lines of Slurm's files with a key that the release of the cluster does not know."""
    release = cluster.slurm.version
    for text, table in (
        (slurm_conf(cluster), "slurm_conf"),
        (cgroup_conf(cluster), "cgroup"),
        (slurmdbd_conf(cluster), "slurmdbd"),
    ):
        for line in text.splitlines():
            if "=" in line and not line.startswith("#"):
                first, *rest = [pair.partition("=")[0].lower() for pair in line.split()]
                of = {"nodename": "node", "partitionname": "partition"}.get(first)
                known = [keys(table)[first], *(keys(of)[key] for key in rest if of)]
                if not all(key.known_in(release) for key in known):
                    yield line
