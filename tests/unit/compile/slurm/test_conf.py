"""slurm.conf, gres.conf and cgroup.conf of SkyNet, and the differences between Slurm's versions."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hostlists import each
from inventories import INVENTORY, SMALL, changed, cluster_at

from gpupool.cluster.model import Cluster
from gpupool.compile import files_for, files_of
from gpupool.compile.slurm.accounting import entities
from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.slurm.gres import cgroup_conf, gres_conf
from gpupool.compile.slurm.priority import step_down
from gpupool.compile.system.packages import packages_for
from gpupool.testbed.overlay import stand_in

INVENTORIES = sorted(path.parent.name for path in INVENTORY.glob("*/inventory.py"))
VERSIONS = ("22.05", "24.11", "26.05")


def settings(text: str) -> dict[str, str]:
    """Return the keys that have a separate line, by name."""
    lines = [line for line in text.splitlines() if line and not line.startswith(("#", "NodeName=", "PartitionName="))]
    found = dict(line.split("=", 1) for line in lines if not line.startswith("SlurmctldHost="))
    assert len(found) == len([line for line in lines if not line.startswith("SlurmctldHost=")]), (
        "a key is defined twice"
    )
    return found


def rows(text: str, key: str) -> dict[str, dict[str, str]]:
    """Return the lines of `NodeName=` or `PartitionName=` as mappings, by node or partition."""
    found = {}
    for line in text.splitlines():
        if line.startswith(f"{key}="):
            found |= {row.pop(key): row for row in each(line)}
    return found


@pytest.mark.promise("SKY-184", "SKY-145")
def test_gpus_and_logical_cpus_are_allocated(skynet: Cluster) -> None:
    text = slurm_conf(skynet)
    values = settings(text)
    assert (values["SelectType"], values["SelectTypeParameters"]) == ("select/cons_tres", "CR_CPU_Memory")
    assert values["GresTypes"] == "gpu"
    for row in rows(text, "NodeName").values():
        # each CPU is a core with one thread, or cores are not set: Slurm then allocates single logical CPUs
        assert (row.get("Sockets"), row.get("ThreadsPerCore")) in ((None, None), ("1", "1"))
        assert row.get("CoresPerSocket", row["CPUs"]) == row["CPUs"]


@pytest.mark.promise("SKY-034", "SKY-036")
def test_limits_are_enforced(skynet: Cluster) -> None:
    values = settings(slurm_conf(skynet))
    assert set(values["AccountingStorageEnforce"].split(",")) == {"associations", "limits", "qos", "safe"}
    tracked = values["AccountingStorageTRES"].split(",")
    assert tracked == ["gres/gpu", *(f"gres/gpu:{gpu}" for gpu in ("titan_x", "2080_ti", "rtx_6000", "a40"))]


@pytest.mark.promise("SKY-036", "SKY-119", "SKY-125")
def test_owners_take_gpus_back_by_partition(skynet: Cluster) -> None:
    text = slurm_conf(skynet)
    values = settings(text)
    assert (values["PreemptType"], values["PreemptMode"]) == ("preempt/partition_prio", "REQUEUE")
    assert values["PreemptParameters"] == "send_user_signal"
    assert "preempt_youngest_first" not in text
    modes = {name: row["PreemptMode"] for name, row in rows(text, "PartitionName").items()}
    assert {name for name, mode in modes.items() if mode == "REQUEUE"} == {"overcap", "user-overcap"}
    assert {mode for name, mode in modes.items() if "overcap" not in name} == {"OFF"}


@pytest.mark.promise("SKY-102", "SKY-119", "SKY-124", "SKY-125", "SKY-153", "SKY-154", "SKY-155")
@pytest.mark.parametrize(
    ("name", "time", "tier", "rest"),
    [
        ("debug", "04:00:00", 100, {"DenyAccounts": "overcap", "QOS": "partition-debug"}),
        ("short", "2-00:00:00", 80, {"DenyAccounts": "overcap"}),
        ("long", "7-00:00:00", 60, {"DenyAccounts": "overcap"}),
        ("kira-lab", "7-00:00:00", 80, {"AllowAccounts": "kira-lab"}),
        ("cvmlp-lab", "7-00:00:00", 80, {"AllowAccounts": "cvmlp-lab"}),
        (
            *("user-overcap", "2-00:00:00", 20),
            {"DenyAccounts": "overcap", "QOS": "partition-user-overcap", "GraceTime": "300"},
        ),
        ("overcap", "2-00:00:00", 10, {"AllowAccounts": "overcap", "GraceTime": "300"}),
    ],
)
def test_partitions_have_their_keys(skynet: Cluster, name: str, time: str, tier: int, rest: dict[str, str]) -> None:
    row = rows(slurm_conf(skynet), "PartitionName")[name]
    assert (row.pop("MaxTime"), row.pop("PriorityTier"), row.pop("State")) == (time, str(tier), "UP")
    assert row.pop("Default") == ("YES" if name == "short" else "NO")
    assert (
        row.pop("Nodes") == "a40-[01-04],rtx6000-[01-05],rtx2080ti-[01-12],titanx-[01-09],titanxp-[01-04],vicki,clippy"
    )
    assert row.pop("PreemptMode") in ("OFF", "REQUEUE")
    assert row == rest


@pytest.mark.promise("SKY-103", "SKY-187")
def test_a_queue_can_be_requested_as_a_partition_and_as_a_qos(skynet: Cluster) -> None:
    """`-p hoffman-lab --qos=short`, `-p short`, `-p short,user-overcap`, `-p overcap -A overcap`."""
    partitions = rows(slurm_conf(skynet), "PartitionName")
    assert {"debug", "short", "long", "user-overcap", "overcap", "hoffman-lab"} <= set(partitions)
    assert settings(slurm_conf(skynet))["EnforcePartLimits"] == "ANY"
    for user in skynet.users.values():
        for account in user.accounts:
            own = entities(skynet)["users"][user.name]["accounts"][account]
            assert {"short", "long", "debug"} <= set(own["qos"])
            # no partition restricts its QoS, and a default without a wall fits each
            assert not any("AllowQos" in row for row in partitions.values())
            assert entities(skynet)["qos"][own["default_qos"]]["MaxWall"] is None


@pytest.mark.promise("SKY-102")
def test_every_lab_has_a_partition_and_no_other_lab_may_use_it(skynet: Cluster) -> None:
    partitions = rows(slurm_conf(skynet), "PartitionName")
    labs = [name for name, account in skynet.accounts.items() if account.entry.kind == "lab"]
    assert len(labs) == 14
    assert all(partitions[lab]["AllowAccounts"] == lab for lab in labs)


@pytest.mark.promise("SKY-005", "SKY-132", "SKY-150", "SKY-188")
def test_nodes_have_their_keys(skynet: Cluster) -> None:
    nodes = rows(slurm_conf(skynet), "NodeName")
    assert len(nodes) == 36
    assert sum(int(row["CPUs"]) for row in nodes.values()) == 2056
    assert sum(int(row["Gres"].rpartition(":")[2]) for row in nodes.values()) == 284
    assert {row["Feature"] for row in nodes.values()} == {"titan_x", "2080_ti", "rtx_6000", "a40"}
    assert all(row["Gres"].split(":")[1] == row["Feature"] for row in nodes.values())
    assert nodes["a40-01"] == {
        "NodeAddr": "10.66.10.1",
        "CPUs": "128",
        "Sockets": "1",
        "CoresPerSocket": "128",
        "ThreadsPerCore": "1",
        "RestrictedCoresPerGPU": "15",
        "RealMemory": "508559",
        "Gres": "gpu:a40:8",
        "Feature": "a40",
        "State": "UNKNOWN",
    }


def test_a_job_on_all_gpus_of_a_node_fits_its_memory(skynet: Cluster) -> None:
    text = slurm_conf(skynet)
    each = int(settings(text)["DefMemPerGPU"])
    for row in rows(text, "NodeName").values():
        assert int(row["Gres"].rpartition(":")[2]) * each <= int(row["RealMemory"])


def test_the_backup_controller_is_second(skynet: Cluster) -> None:
    hosts = [line for line in slurm_conf(skynet).splitlines() if line.startswith("SlurmctldHost=")]
    assert hosts == ["SlurmctldHost=marvin(10.66.2.1)", "SlurmctldHost=vicki(10.66.2.2)"]


@pytest.mark.promise("SKY-188")
def test_device_files_are_listed(skynet: Cluster) -> None:
    text = gres_conf(skynet)
    assert "NodeName=vicki Name=gpu Type=titan_x File=/dev/nvidia[0-3] Cores=0-23\n" in text
    assert "NodeName=a40-[01-04] Name=gpu Type=a40 File=/dev/nvidia[0-7] Cores=0-127\n" in text


@pytest.mark.promise("SKY-036", "SKY-132")
@pytest.mark.parametrize("version", ["22.05", "24.11", "26.05"])
def test_each_gpu_keeps_cpus_if_the_release_supports_it(tmp_path: Path, version: str) -> None:
    cluster = changed(SMALL, tmp_path, ("scheduler:", f"slurm: {{version: '{version}'}}\nscheduler:"))
    row = rows(slurm_conf(cluster), "NodeName")["gpu-1"]
    keeps = version != "22.05"
    assert row.get("RestrictedCoresPerGPU") == ("6" if keeps else None)
    assert ("CoresPerSocket" in row) == keeps
    assert ("File=/dev/nvidia[0-7] Cores=0-63" in gres_conf(cluster)) == keeps


@pytest.mark.promise("SKY-036")
def test_no_other_job_can_take_a_gpus_cpus_or_default_memory(skynet: Cluster) -> None:
    """Checked for each node: whatever other jobs request, the last GPU keeps its CPUs and its default memory."""
    default, most = skynet.scheduler.default_memory, skynet.scheduler.max_memory
    assert default.per_gpu
    assert most.per_gpu
    assert most.per_cpu
    assert settings(slurm_conf(skynet))["DefMemPerGPU"] == str(default.per_gpu["default"])
    for node in skynet.having("compute"):
        free = node.cpus - node.gpu_count * node.cpus_kept
        assert node.cpus_kept >= 3
        assert free >= 4
        assert (node.gpu_count - 1) * most.per_gpu["default"] + free * most.per_cpu + default.per_gpu[
            "default"
        ] <= node.memory


@pytest.mark.promise("SKY-036", "SKY-156")
def test_a_waiting_job_without_gpus_reserves_no_nodes(skynet: Cluster) -> None:
    values = settings(slurm_conf(skynet))
    others = sum(int(values[f"PriorityWeight{key}"]) for key in ("QOS", "Age"))
    assert "PriorityWeightFairshare" not in values, "accounts' past use has no weight here"
    every = int(values["PriorityWeightPartition"])
    down = step_down(skynet)
    assert down is not None
    [number] = re.findall(r"bf_min_prio_reserve=(\d+)", values["SchedulerParameters"])
    reserving = int(number)
    # the highest job without GPUs, the threshold for reservations, the lowest job with GPUs
    assert 0 < every + others - down < reserving < every
    santos = settings(slurm_conf(cluster_at(INVENTORY / "santos-dumont")))
    assert "PriorityWeightPartition" not in santos
    assert "bf_min_prio_reserve" not in santos["SchedulerParameters"]


NO_LABS = (
    ("kind: lab, gid: 5001, contributed_gpus: 10", "kind: group, gid: 5001"),
    ("kind: lab, gid: 5002, contributed_gpus: 6", "kind: group, gid: 5002"),
)
NO_GPUS = (
    (", gpus: {a40: 8}", ""),
    *[("contributed_gpus: 10", "contributed_gpus: 0"), ("contributed_gpus: 6", "contributed_gpus: 0")],
    *[("max_memory: {per_gpu: 60G, per_cpu", "max_memory: {per_cpu"), ("cpus_kept_per_gpu: 6", "cpus_kept_per_gpu: 0")],
)


@pytest.mark.parametrize(
    ("changes", "two_kinds"),
    [
        ((), True),
        (NO_LABS, False),
        (NO_GPUS, False),
        ([("default_memory: {per_gpu: 30G, per_cpu: 2G}", "default_memory: {per_cpu: 2G}")], False),
    ],
    ids=["as it is", "no labs", "no GPUs", "no memory for each GPU"],
)
def test_jobs_without_gpus_have_a_lower_priority_only_if_labs_own_gpus_and_both_kinds_have_a_default(
    changes: Sequence[tuple[str, str]], two_kinds: bool, tmp_path: Path
) -> None:
    cluster = changed(SMALL, tmp_path, *changes)
    keys = settings(slurm_conf(cluster))
    assert ("PriorityWeightPartition" in keys, step_down(cluster) is not None) == (two_kinds, two_kinds)


LEND = "  - {name: overcap, nodes: '@compute', preemptable: true, tier: 0, allow_accounts: [pot]}\nscheduler:"


@pytest.mark.parametrize(
    ("nodes", "times"),
    [
        (59, ["bf_interval=2"]),
        (60, ["bf_interval=2", "bf_max_time=3"]),
        (240, ["bf_interval=6", "bf_max_time=12"]),
        (544, ["bf_interval=13", "bf_max_time=27"]),
        (1200, []),  # Slurm's defaults, 30 s each
    ],
)
def test_backfill_covers_its_whole_queue_on_many_nodes_and_then_rests_as_long_as_that_takes(
    nodes: int, times: list[str], tmp_path: Path
) -> None:
    cluster = changed(
        SMALL,
        tmp_path,
        ("scheduler:", LEND),
        ("max_time: 2d", "max_time: 2d\n    deny_accounts: [pot]"),
        ("name: blue, kind: lab, gid: 5002, contributed_gpus: 6}", "name: pot, kind: shared, members: all}"),
    )
    other = {name: node for name, node in cluster.nodes.items() if not node.has("compute")}
    compute = {f"n{number}": replace(cluster.nodes["gpu-1"], name=f"n{number}") for number in range(nodes)}
    partitions = {name: replace(partition, nodes=("n1",)) for name, partition in cluster.partitions.items()}
    values = settings(slurm_conf(replace(cluster, nodes={**other, **compute}, partitions=partitions)))[
        "SchedulerParameters"
    ]
    assert re.findall(r"bf_(?:interval|max_time)=\d+", values) == times


@pytest.mark.parametrize(
    ("longest", "site", "options"),
    [
        ("2d", "", "bf_window=2880,bf_resolution=120"),
        ("1d", "", None),
        ("1501m", "", "bf_window=1501,bf_resolution=63"),
        ("30d", "", "bf_window=43200,bf_resolution=1800"),
        ("60d", "", "bf_window=43200,bf_resolution=1800"),
        ("7d", "BF_WINDOW=99", None),
        ("7d", "bf_interval=9", "bf_window=10080,bf_resolution=420"),
    ],
)
def test_backfill_plans_as_far_as_the_longest_job(longest: str, site: str, options: str | None, tmp_path: Path) -> None:
    own = f"slurm: {{parameters: {{schedulerparameters: '{site}'}}}}\nscheduler:" if site else "scheduler:"
    cluster = changed(SMALL, tmp_path, ("max_time: 2d", f"max_time: {longest}"), ("scheduler:", own))
    [line] = [line for line in slurm_conf(cluster).splitlines() if line.startswith("SchedulerParameters=")]
    assert (options in line) if options else ("bf_resolution" not in line)


@pytest.mark.promise("SKY-205")
def test_a_switch_allows_labs_own_accounts_in_overcap(tmp_path: Path) -> None:
    overcap = "  - {name: overcap, nodes: '@compute', preemptable: true, tier: 0, allow_accounts: [pot] SWITCH}\n"
    for switch, allowed in (("", "pot"), (", allow_lab_accounts: true", "pot,red,blue")):
        cluster = changed(
            SMALL,
            tmp_path,
            ("scheduler:", f"{overcap.replace(' SWITCH', switch)}scheduler:"),
            ("max_time: 2d", "max_time: 2d\n    deny_accounts: [pot]"),
            ("users:\n", "  - {name: pot, kind: shared, members: all}\nusers:\n"),
        )
        assert rows(slurm_conf(cluster), "PartitionName")["overcap"]["AllowAccounts"] == allowed


def test_two_types_of_one_node_have_consecutive_device_numbers(tmp_path: Path) -> None:
    mixed = changed(
        SMALL,
        tmp_path,
        ("a40: {models: [A40]}", "a40: {models: [A40]}\n  l4: {models: [L4]}"),
        ("gpus: {a40: 8}", "gpus: {a40: 7, l4: 1}"),
        (", cpus_kept_per_gpu: 6", ""),
    )
    lines = [line for line in gres_conf(mixed).splitlines() if not line.startswith("#")]
    assert lines == [
        "NodeName=gpu-[1-2] Name=gpu Type=a40 File=/dev/nvidia[0-6]",
        "NodeName=gpu-[1-2] Name=gpu Type=l4 File=/dev/nvidia7",
    ]
    assert rows(slurm_conf(mixed), "NodeName")["gpu-1"]["Gres"] == "gpu:a40:7,gpu:l4:1"
    assert rows(slurm_conf(mixed), "NodeName")["gpu-1"]["Feature"] == "a40,l4"


def test_nodes_by_their_full_names(tmp_path: Path) -> None:
    """slurmd finds its line by the short host name, and users see the full name."""
    cluster = changed(SMALL, tmp_path, ("domain: small.example", "domain: small.example, node_names: fqdn"))
    text = slurm_conf(cluster)
    nodes = rows(text, "NodeName")
    assert list(nodes) == ["gpu-1.small.example", "gpu-2.small.example"]
    assert [row["NodeHostname"] for row in nodes.values()] == ["gpu-1", "gpu-2"]
    assert rows(text, "PartitionName")["all"]["Nodes"] == "gpu-1.small.example,gpu-2.small.example"
    assert "NodeName=gpu-1.small.example,gpu-2.small.example Name=gpu" in gres_conf(cluster)
    assert "SlurmctldHost=ctl(" in text
    assert cluster.select("gpu-1") == {"gpu-1"}


def test_without_preemptable_partitions_no_key_of_preemption_is_set(tmp_path: Path) -> None:
    text = slurm_conf(changed(SMALL, tmp_path))
    assert "Preempt" not in text
    assert "GraceTime" not in text


def test_every_key_of_a_partition_is_written(tmp_path: Path) -> None:
    cluster = changed(
        SMALL,
        tmp_path,
        (
            "max_time: 2d",
            "max_time: 90s\n    max_nodes: 2\n    qos: [normal]\n    billing: {cpu: 1.5, gpu: 2, mem: 0.25}",
        ),
        ("max_time: 4h\n", "preemptable: true\n"),
        ("tier: 10", "tier: 0"),
        ("scheduler:", "preemption: {action: cancel, send_user_signal: false, requeue_delay: 30s}\nscheduler:"),
    )
    text = slurm_conf(cluster)
    row = rows(text, "PartitionName")["all"]
    assert (row["MaxTime"], row["MaxNodes"], row["AllowQos"]) == ("00:02:00", "2", "normal")
    assert row["TRESBillingWeights"] == "CPU=1.5,GRES/gpu=2.0,Mem=0.25G"
    red = rows(text, "PartitionName")["red"]
    assert (red["MaxTime"], red["PreemptMode"], red["GraceTime"]) == ("UNLIMITED", "CANCEL", "0")
    assert settings(text)["PreemptMode"] == "CANCEL"
    assert settings(text)["AuthInfo"] == "cred_expire=30"
    assert "PreemptParameters" not in text


def test_parameters_of_the_site_are_written_as_they_are(tmp_path: Path) -> None:
    cluster = changed(SMALL, tmp_path, ("scheduler:", "slurm: {parameters: {MinJobAge: '50000'}}\nscheduler:"))
    assert settings(slurm_conf(cluster))["MinJobAge"] == "50000"


def of_version(tmp_path: Path, version: str) -> Cluster:
    scheduler = "default_partition: all, rpc_limit: {bucket: 30, refill: 2}"
    slurm = f'slurm: {{version: "{version}"}}\nscheduler:'
    (tmp_path / version).mkdir()
    return changed(SMALL, tmp_path / version, ("default_partition: all", scheduler), ("scheduler:", slurm))


def test_releases_differ_only_where_necessary(tmp_path: Path) -> None:
    """22.05 limits no requests and connections, reserves no CPUs for GPUs, and detects its cgroup version itself."""
    old, middle, new = (of_version(tmp_path, version) for version in VERSIONS)
    for cluster in (middle, new):
        assert settings(slurm_conf(cluster))["SlurmctldParameters"] == (
            "enable_configless,conmgr_max_connections=1000,rl_enable,rl_bucket_size=30,rl_refill_rate=2"
        )
        assert "CgroupPlugin=cgroup/v2\n" in cgroup_conf(cluster)
        assert "SystemdTimeout=60000\n" in cgroup_conf(cluster)
    assert settings(slurm_conf(old))["SlurmctldParameters"] == "enable_configless"
    assert "CgroupPlugin=autodetect\n" in cgroup_conf(old)
    assert "SystemdTimeout" not in cgroup_conf(old), "22.05 ends with a key that it does not know"
    assert slurm_conf(middle) == slurm_conf(new)
    different = set(slurm_conf(old).splitlines()) ^ set(slurm_conf(new).splitlines())
    assert {line.partition("=")[0] for line in different} == {"SlurmctldParameters", "NodeName"}


@pytest.mark.parametrize("version", VERSIONS)
def test_only_the_nodes_that_need_slurm_conf_have_it(version: str, tmp_path: Path) -> None:
    cluster = changed(
        SMALL,
        tmp_path,
        ("[head, controller, database]", "[controller, database]"),
        ("nodes:\n", "nodes:\n  - {name: login, address: 10.90.1.2, roles: [head]}\n"),
        ("scheduler:", f"slurm: {{version: '{version}'}}\nscheduler:"),
    )
    head, controller, node = (cluster.nodes[name] for name in ("login", "ctl", "gpu-1"))
    conf = "/etc/slurm/slurm.conf"
    assert conf in [file.path for file in files_for(cluster, controller)]
    assert conf not in [file.path for file in files_for(cluster, node)]
    own = [file.path for file in files_of(cluster, head, "head")]
    if version == "22.05":
        assert conf in [file.path for file in files_for(cluster, head)]
        assert own == []
        assert "sackd" not in packages_for(cluster, head)
    else:
        assert conf not in [file.path for file in files_for(cluster, head)]
        assert own == ["/etc/default/sackd", "/etc/systemd/system/sackd.service.d/gpupool.conf"]
        assert "sackd" in packages_for(cluster, head)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("cgroup", ["v1", "v2"])
def test_every_release_constrains_devices_and_memory(version: str, cgroup: str, tmp_path: Path) -> None:
    cluster = of_version(tmp_path, version)
    twin = stand_in(cluster, cgroup="v1" if cgroup == "v1" else "v2")
    values = settings(cgroup_conf(twin))
    assert (values["ConstrainDevices"], values["ConstrainRAMSpace"], values["ConstrainCores"]) == ("yes", "yes", "no")
    assert values.get("CgroupMountpoint") == ("/cg1" if cgroup == "v1" else None)
    # keys that came after 22.05, or that it lacks
    assert not {"EnableControllers", "SignalChildrenProcesses", "CgroupSlice"} & set(values)
    assert settings(cgroup_conf(cluster))["ConstrainCores"] == "yes"


def test_a_cluster_without_device_constraints_is_written_so() -> None:
    assert settings(cgroup_conf(cluster_at(INVENTORY / "arandu")))["ConstrainDevices"] == "no"


@pytest.mark.parametrize("folder", INVENTORIES)
def test_no_file_has_an_empty_value(folder: str) -> None:
    cluster = cluster_at(INVENTORY / folder)
    twin = stand_in(cluster, cgroup="v2")
    for either in (cluster, twin):
        for node in either.nodes.values():
            paths = [file.path for file in files_for(either, node)]
            assert len(paths) == len(set(paths))
            for file in files_for(either, node):
                assert file.text.endswith("\n")
                is_program = file.path.endswith((".lua", ".nft", ".asc")) or file.text.startswith("#!")
                if file.path.startswith("/etc/") and not is_program:
                    # an empty value resets a systemd setting, and Apptainer has spaces around the sign
                    empty = {"systemd": "= ", "apptainer": "=$"}.get(file.path.split("/")[2], "=$|= ")
                    assert not re.search(rf"None|True|False|\{{\{{|\{{%|{empty}|,,", file.text, re.MULTILINE), file.path
                assert file.path.startswith(("/etc/", "/usr/local/", "/usr/libexec/gpupool/"))


def test_the_arbiter_has_memory_for_the_maximum_number_of_jobs(skynet: Cluster) -> None:
    unit, conf = (
        next(file.text for file in files_for(skynet, skynet.controllers[0]) if file.path == path)
        for path in ("/etc/systemd/system/gpupool-arbiter.service", "/etc/slurm/slurm.conf")
    )
    (mib,) = re.findall(r"^MemoryMax=(\d+)M$", unit, re.MULTILINE)
    (jobs,) = re.findall(r"^MaxJobCount=(\d+)$", conf, re.MULTILINE)
    assert int(mib) * 1024 // int(jobs) >= 80


def test_a_feature_with_the_gpus_name_is_written_once(tmp_path: Path) -> None:
    cluster = changed(SMALL, tmp_path, ("gpus: {a40: 8}", "gpus: {a40: 8}, features: [a40, big]"))
    assert "Feature=a40,big " in slurm_conf(cluster)


def test_the_default_time_of_a_partition_overrides_that_of_the_cluster(tmp_path: Path) -> None:
    own = ("tier: 10", "tier: 10\n    default_time: 1h")
    lines = slurm_conf(changed(SMALL, tmp_path, own, ("scheduler: {", "scheduler: {default_time: 3h, "))).splitlines()
    times = {line.split()[0]: line for line in lines if line.startswith("PartitionName=")}
    assert " MaxTime=2-00:00:00 DefaultTime=03:00:00 " in times["PartitionName=all"]
    assert " MaxTime=04:00:00 DefaultTime=01:00:00 " in times["PartitionName=red"]


def test_the_clusters_default_time_is_limited_by_that_of_the_partition(tmp_path: Path) -> None:
    text = slurm_conf(changed(SMALL, tmp_path, ("scheduler: {", "scheduler: {default_time: 1d, ")))
    assert " MaxTime=04:00:00 DefaultTime=04:00:00 " in text
