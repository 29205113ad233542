"""The inventory of a cluster's files: words of the language, else Slurm's own; `check` accepts it."""

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpupool.adopt.folder import Folder
from gpupool.adopt.inventory import Adopted, adopted, ensure_new, write
from gpupool.cluster.load import examine
from gpupool.errors import GpupoolError, UsageError

SECRET = "AccountingStoragePass" + "=hunter2"  # in two parts: no file of the repository holds a password
CLUSTER = f"""ClusterName=Sea_1
SlurmctldHost=ctl(10.1.0.1)
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=db
{SECRET}
SelectTypeParameters=CR_Core_Memory
SlurmctldPort=7000
StateSaveLocation=/var/spool/slurmctld
MaxArraySize=2000
NodeSet=quick Feature=fast
NodeName=DEFAULT Sockets=2 CoresPerSocket=8 ThreadsPerCore=2
NodeName=g[1-2] NodeAddr=10.1.1.[1-2] RealMemory=64000 Gres=gpu:a100:4 Feature=fast,a100
NodeName=g3 NodeAddr=10.1.1.3 RealMemory=64000 Gres=gpu:a100:4 Feature=fast,a100
NodeName=c+1 RealMemory=32000 Gres=gpu:2 Weight=5 State=DOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=2-0 AllowAccounts=Bio,chem
PartitionName=quick Nodes=quick MaxTime=60 MaxNodes=2 LLN=YES QOS=fast
PartitionName=old Nodes=old[1-4]
"""


# in Slurm's own words, because the language has a type for each GPU
GRES = {"parameters": {"Gres": "gpu:2"}}


def of(top: Path, text: str = CLUSTER, **others: str) -> Adopted:
    for name, content in {"slurm": text, **others}.items():
        (top / f"{name}.conf").write_text(content, encoding="utf-8")
    return adopted(Folder(top), "24.11")


def fates(result: Adopted) -> dict[str, str]:
    """Return `key=value` with its last fate."""
    rows = [line.split("\t") for line in result.files["adopted.tsv"].splitlines()[1:]]
    return {pair: f"{how}: {where}" for _, pair, how, where in rows}


def data(result: Adopted, file: str) -> dict[str, object]:
    return yaml.safe_load(result.files[file])  # type: ignore[no-any-return]


def test_check_accepts_the_inventory_and_nodes_are_folded(tmp_path: Path) -> None:
    result = of(tmp_path)
    assert result.loaded.errors == []
    nodes = data(result, "nodes.yml")
    assert nodes["nodes"] == [
        {
            "name": "g[1-3]", "roles": ["compute"], "hardware": "g", "gpus": {"a100": 4}, "features": ["fast", "a100"],
            "address": "10.1.1.[1-3]", "managed": False,
        },
        {"name": "c-1", "roles": ["compute"], "hardware": "c", "gpus": {"gpu": 2}, "managed": False},
        {"name": "ctl", "roles": ["controller"], "managed": False, "address": "10.1.0.1"},
        {"name": "db", "roles": ["database"], "managed": False},
    ]  # fmt: skip
    assert nodes["hardware"] == {
        "g": {"cpus": 32, "sockets": 2, "cores": 8, "threads": 2, "real_memory": 64000},
        "c": {"cpus": 32, "sockets": 2, "cores": 8, "threads": 2, "real_memory": 32000, "weight": 5} | GRES,
    }


def test_partitions_are_words_where_the_language_has_them_and_parameters_elsewhere(tmp_path: Path) -> None:
    kept = {"LLN": "YES", "QOS": "fast"}
    assert data(of(tmp_path), "partitions.yml")["partitions"] == [
        {"name": "all", "nodes": "@compute", "max_time": "2d", "allow_accounts": ["bio", "chem"]},
        {"name": "quick", "nodes": "g[1-3]", "max_time": "1h", "max_nodes": 2, "parameters": kept},
    ]


def test_each_fact_has_a_fate_and_a_reason(tmp_path: Path) -> None:
    result = of(tmp_path)
    assert len(fates(result)) >= 30
    for pair, fate in {
        "ClusterName=Sea_1": "taken: cluster.name",
        "MaxArraySize=2000": "kept: slurm.parameters",
        "StateSaveLocation=/var/spool/slurmctld": "taken: slurm.state",
        "Weight=5": "taken: hardware.c.weight",
        "State=DOWN": "not taken: a state, not configuration",
        "SlurmctldPort=7000": "kept: slurm.parameters",
        "QOS=fast": "kept: partitions.quick.parameters",
        "PartitionName=old": "not taken: a partition of no nodes",
        "LLN=YES": "kept: partitions.quick.parameters",
    }.items():
        assert fates(result)[pair].startswith(fate), pair
    assert [str(trouble) for trouble in result.troubles] == [
        "slurm.conf:17: warning: no line of nodes has old[1-4]; left out of partition old",
        "slurm.conf:17: warning: the partition old has no nodes and is left out (slurmctld refuses it)",
    ]


def test_nodes_keep_their_host_names_and_dns_names(tmp_path: Path) -> None:
    lines = (
        "NodeName=part[1-2] NodeHostname=whole NodeAddr=10.1.1.4 Port=[7001-7002]\n"
        "NodeName=far[1-2] NodeAddr=far-[1-2].sea.example\nPartitionName=p Nodes=ALL DefaultTime=INFINITE\n"
    )
    result = of(tmp_path, f"ClusterName=a.sea.example\nSlurmctldHost=c(c.sea.example)\nSlurmctldPort=6817\n{lines}")
    nodes: Any = data(result, "nodes.yml")["nodes"]
    assert [(node.get("hostname"), node.get("address")) for node in nodes] == [
        ("whole", "10.1.1.4"),
        (None, "far-1.sea.example,far-2.sea.example"),
        (None, "c.sea.example"),
    ]
    assert result.loaded.errors == []
    assert result.differences == []


def test_nodes_with_one_address_keep_it_and_their_names(tmp_path: Path) -> None:
    """Several slurmd may run on one machine; Slurm's own names may have `_`."""
    lines = "NodeName=d_[1-3] NodeAddr=10.1.1.4 Port=[7001-7003]\nPartitionName=p Nodes=ALL\n"
    result = of(tmp_path, f"ClusterName=a\nSlurmctldHost=c\n{lines}")
    nodes: Any = data(result, "nodes.yml")["nodes"]
    assert (nodes[0]["name"], nodes[0]["address"]) == ("d_[1-3]", "10.1.1.4")
    assert result.loaded.errors == []
    assert [one for one in result.differences or [] if one.section == "node"] == []


def test_a_password_is_in_no_file_and_no_difference(tmp_path: Path) -> None:
    result = of(tmp_path)
    assert "hunter2" not in "".join(result.files.values())
    assert "hunter2" not in "".join(map(str, result.differences or []))


def test_the_socket_of_munge_is_no_password(tmp_path: Path) -> None:
    line = SECRET.replace("hunter2", "/run/munge/other.socket.2")
    result = of(tmp_path, f"ClusterName=a\nSlurmctldHost=c\n{line}\nNodeName=n1\nPartitionName=p Nodes=n1\n")
    assert fates(result)[line] == "kept: slurm.parameters"
    assert [one for one in result.differences or [] if "Pass" in str(one)] == []


def test_the_differences_have_their_lines_values_and_causes(tmp_path: Path) -> None:
    found = {str(one): one.cause for one in of(tmp_path).differences or []}
    expected = {
        "slurm.conf:14: NodeName of node c+1: c+1, would be c-1": "names",
        "slurm.conf:14: State of node c+1: down, would be unknown": "state",
    }
    assert expected.items() <= found.items()
    assert [one for one in found if "MaxTime" in one or "RealMemory" in one or "NodeAddr" in one] == []


def test_device_files_and_autodetect_come_from_gres_conf(tmp_path: Path) -> None:
    gres = "NodeName=g[1-3] AutoDetect=nvidia\nNodeName=c+1 Name=gpu File=/dev/nvidia[2-3] Cores=0-3\n"
    result = of(tmp_path, gres=gres)
    nodes = data(result, "nodes.yml")
    assert nodes["gpu_types"]["a100"]["autodetect"] == "nvidia"  # type: ignore[index]
    assert nodes["nodes"][1]["devices"] == {"gpu": ["/dev/nvidia2", "/dev/nvidia3"]}  # type: ignore[index]
    assert fates(result)["Cores=0-3"] == "kept: slurm/gres.conf, the site's own file"
    assert result.files["slurm/gres.conf"] == gres
    assert result.troubles[2:] == []


def test_nodes_and_types_of_gres_conf_that_slurm_conf_lacks_are_named(tmp_path: Path) -> None:
    gres = "NodeName=g[3-5] Name=gpu Type=v100 File=/dev/nvidia0\nNodeName=c+1 Name=gpu Type=a100 File=/dev/nvidia1\n"
    assert [str(trouble) for trouble in of(tmp_path, gres=gres).troubles[:2]] == [
        "gres.conf:1: warning: no line of nodes has g[4-5] (Slurm ignores it here)",
        "gres.conf:1: warning: Gres of g3 in slurm.conf has no GPU of type v100",
    ]


def test_a_key_that_no_file_has_is_added_with_its_reason(tmp_path: Path) -> None:
    assert fates(of(tmp_path))["KillWait=30"].startswith("added: slurm.parameters.KillWait: Slurm's default")


def test_cgroup_conf_is_taken_or_stays_in_slurms_words(tmp_path: Path) -> None:
    result = of(tmp_path, cgroup="ConstrainDevices=yes\nConstrainCores=no\nConstrainSwapSpace=yes\n")
    assert data(result, "cluster.yml")["gpu"] == {"constrain_devices": True}
    assert fates(result)["ConstrainSwapSpace=yes"].startswith("kept")
    assert fates(result)["ConstrainCores=no"].startswith("kept")
    assert [one for one in result.differences or [] if one.section == "cgroup"] == []
    removed = of(tmp_path, cgroup="CgroupAutomount=yes\n").differences or []
    assert [str(one) for one in removed if one.section == "cgroup"] == [
        "cgroup.conf:1: CgroupAutomount of cgroup.conf: yes, would be not set"
    ]
    assert {one.cause for one in removed if one.section == "cgroup"} == {"removed by Slurm"}


def test_groups_of_gpupools_own_keys_are_left_to_the_site_where_any_would_differ(tmp_path: Path) -> None:
    text = """ClusterName=a
SlurmctldHost=a
SlurmUser=root
AuthInfo=cred_expire=30
TaskPlugin=task/none
SlurmctldParameters=idle_on_node_suspend,rl_enable,rl_bucket_size=5,rl_refill_rate=2
EnforcePartLimits=NO
PriorityWeightAge=10
DefMemPerCPU=100
NodeName=a CPUs=4 RealMemory=200
PartitionName=p Nodes=a Priority=50
PartitionName=q Nodes=a PriorityJobFactor=7 DefMemPerCPU=50
"""
    result = of(tmp_path, text)
    site: dict[str, Any] = data(result, "slurm.yml")
    slurm = site["slurm"]
    assert slurm["left"] == ["cgroups", "steps", "configless", "enforce", "submit", "order", "memory", "place"]
    expected = {
        "SlurmUser": "root", "AuthInfo": "cred_expire=30", "TaskPlugin": "task/none", "EnforcePartLimits": "NO",
        "SlurmctldParameters": "idle_on_node_suspend,rl_enable,rl_bucket_size=5,rl_refill_rate=2",
        "PriorityWeightAge": 10, "DefMemPerCPU": 100,
    }  # fmt: skip
    assert expected.items() <= slurm["parameters"].items()
    assert not {"priority_weights", "enforce_limits", "default_memory"} & {*site["scheduler"]}
    p, q = data(result, "partitions.yml")["partitions"]  # type: ignore[misc]
    assert (p["tier"], p["parameters"]) == (50, {"PriorityJobFactor": 50})  # type: ignore[has-type]
    assert q["parameters"] == {"PriorityJobFactor": 7, "DefMemPerCPU": 50}  # type: ignore[has-type]
    assert slurm["state"] == "/var/spool"  # Slurm's default
    assert result.differences == []


@pytest.mark.parametrize("spool", ["/srv/slurm/spool", "/var/spool/slurmd.%n"])
def test_slurmd_keeps_its_folder_because_it_finds_running_jobs_there(spool: str, tmp_path: Path) -> None:
    result = of(tmp_path, CLUSTER + f"SlurmdSpoolDir={spool}\n")
    assert fates(result)[f"SlurmdSpoolDir={spool}"] == "taken: slurm.spool"
    assert [one for one in result.differences or () if one.key == "SlurmdSpoolDir"] == []


def test_what_does_not_differ_is_not_left(tmp_path: Path) -> None:
    result = of(tmp_path, "NodeName=a\nPriorityWeightAge=5\nSchedulerType=sched/backfill\n")
    site: dict[str, Any] = data(result, "slurm.yml")
    assert not {"order", "memory"} & {*site["slurm"]["left"]}
    assert site["scheduler"]["priority_weights"]["age"] == 5


def test_of_a_controller_that_becomes_managed_gpupool_manages_slurms_files_and_accounts(tmp_path: Path) -> None:
    files = dict(of(tmp_path).files)
    files["nodes.yml"] = files["nodes.yml"].replace("roles: [controller], managed: false", "roles: [controller]")
    write(tmp_path / "new", files)
    loaded = examine(tmp_path / "new")
    assert loaded.errors == []
    assert loaded.cluster
    assert loaded.cluster.nodes["ctl"].managed_roles == {"slurm", "accounts"}
    without: dict[str, Any] = data(of(tmp_path, "NodeName=a\n"), "cluster.yml")
    assert without["cluster"]["manage"] == ["slurm"]


def test_partitions_that_preempt_by_their_tiers_are_preemptable(tmp_path: Path) -> None:
    text = """ClusterName=a
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=n[1-2] CPUs=4
PartitionName=owners Nodes=ALL PriorityTier=10 PreemptMode=OFF
PartitionName=all Nodes=ALL PriorityTier=1 GraceTime=300
"""
    result = of(tmp_path, text)
    owners, everyone = data(result, "partitions.yml")["partitions"]  # type: ignore[misc]
    assert (owners["preemptable"], everyone["preemptable"], everyone["grace"]) == (False, True, "5m")  # type: ignore[has-type]
    assert [str(one) for one in result.differences or [] if one.cause == "preemption"] == []


@pytest.mark.parametrize(
    "text",
    [
        "PreemptType=preempt/qos\nPreemptMode=CANCEL\nNodeName=a\nPartitionName=p Nodes=a GraceTime=60\n",
        "PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG\nNodeName=a\n"
        "PartitionName=p Nodes=a OverSubscribe=FORCE:1\nPartitionName=q Nodes=a PriorityTier=9 PreemptMode=OFF\n",
        "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\nPreemptParameters=youngest_first\nNodeName=a\n",
        "NodeName=a\nPartitionName=p Nodes=a PreemptMode=CANCEL\n",
    ],
)
def test_preemption_without_words_of_the_language_is_left_to_the_site(text: str, tmp_path: Path) -> None:
    result = of(tmp_path, f"ClusterName=a\nSlurmctldHost=a\n{text}")
    site: dict[str, Any] = data(result, "slurm.yml")
    assert "preemption" in site["slurm"]["left"]
    assert list(map(str, result.differences or [])) == []


@pytest.mark.parametrize(
    "text",
    [
        "SlurmctldHost=c1(10.1.0.1)\nSlurmctldHost=c2(10.1.0.2)\nNodeName=c2 NodeAddr=10.1.0.2\nNodeName=n1\n",
        "ControlMachine=c1\nBackupController=c2\nNodeName=n1\n",
    ],
)
def test_backup_controllers_have_their_role_and_state_on_a_mount_of_the_site(text: str, tmp_path: Path) -> None:
    result = of(tmp_path, f"ClusterName=a\nStateSaveLocation=/shared/state\n{text}PartitionName=p Nodes=n1\n")
    assert list(map(str, result.differences or [])) == []
    cluster = result.loaded.cluster
    assert cluster
    assert [node.name for node in cluster.controllers] == ["c1", "c2"]
    assert cluster.slurm.state == "/shared/state"


def test_a_cluster_of_one_machine_may_call_it_localhost(tmp_path: Path) -> None:
    result = of(tmp_path, "ClusterName=a\nSlurmctldHost=localhost(127.0.0.1)\nNodeName=localhost NodeAddr=127.0.0.1\n")
    assert result.loaded.errors == []
    assert data(result, "nodes.yml")["nodes"] == [
        {
            "name": "localhost", "roles": ["compute", "controller", "database"], "hardware": "localhost",
            "managed": False,
        }
    ]  # fmt: skip
    found = [str(one) for one in of(tmp_path, "ClusterName=a\nNodeName=localhost\n").differences or []]
    assert [one for one in found if "localhost" in one and "Host:" not in one] == []


def test_where_single_cpus_are_allocated_sockets_and_cores_stay_in_slurms_words(tmp_path: Path) -> None:
    text = """ClusterName=a
SelectTypeParameters=CR_CPU_Memory
NodeName=n1 CPUs=64 Sockets=2 CoresPerSocket=16 ThreadsPerCore=2
NodeName=n2 CPUs=32 SocketsPerBoard=2 CoresPerSocket=16 ThreadsPerCore=2
NodeName=n3 CPUs=7 Sockets=2 CoresPerSocket=16
PartitionName=p Nodes=n[1-3]
"""
    result = of(tmp_path, text)
    hardware = data(result, "nodes.yml")["hardware"]
    words = {"CoresPerSocket": 16, "ThreadsPerCore": 2}
    assert [one["parameters"] for one in hardware.values() if "parameters" in one] == [  # type: ignore[attr-defined]
        {"Sockets": 2, **words},
        {"SocketsPerBoard": 2, **words},
    ]
    found = [str(one) for one in result.differences or [] if one.cause == "cpus"]
    assert found == [
        "slurm.conf:5: Sockets of node n3: 2, would be 7",
        "slurm.conf:5: CoresPerSocket of node n3: 16, would be 1",
    ]


def test_what_slurmctld_refuses_is_not_in_the_inventory_and_the_rest_of_its_value_is(tmp_path: Path) -> None:
    conf = "TaskPluginParam=Sched,verbose,Cores\nNodeName=a Feature=sched\nPartitionName=p Nodes=a\n"
    result = of(tmp_path, conf, cgroup="CgroupReleaseAgentDir=/a\n")
    assert {str(one): one.cause for one in result.differences or [] if one.cause == "removed by Slurm"} == {
        "slurm.conf:1: TaskPluginParam: cores,sched,verbose, would be cores,verbose": "removed by Slurm",
        "cgroup.conf:1: CgroupReleaseAgentDir of cgroup.conf: /a, would be not set": "removed by Slurm",
    }
    slurm = data(result, "slurm.yml")["slurm"]
    assert slurm["parameters"]["TaskPluginParam"] == "verbose,Cores"  # type: ignore[index]
    assert "ReleaseAgent" not in result.files["slurm.yml"]
    for pair, why in {
        "TaskPluginParam=Sched,verbose,Cores": "this release of Slurm does not have Sched",
        "CgroupReleaseAgentDir=/a": "CgroupReleaseAgentDir cannot be set here",
    }.items():
        assert fates(result)[pair].startswith(f"not taken: {why}")


def test_a_value_that_slurm_has_removed_has_this_cause(tmp_path: Path) -> None:
    result = of(tmp_path, "SelectType=select/cons_res\nNodeName=a\nPartitionName=p Nodes=a\n")
    assert {one.cause for one in result.differences or [] if one.key == "selecttype"} == {"removed by Slurm"}
    before = adopted(Folder(tmp_path), "22.05")
    assert [one for one in before.differences or [] if one.key == "selecttype"] == []
    assert data(before, "slurm.yml")["slurm"]["parameters"]["SelectType"] == "select/cons_res"  # type: ignore[index]


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ("SelectType=select/linear\n", "NodeName=a CPUs=8 Sockets=2 CoresPerSocket=4"),
        ("SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n", "NodeName=a Sockets=2 ThreadsPerCore=2"),
        ("SelectTypeParameters=CR_CPU,CR_LLN\n", "NodeName=a CPUs=16 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2"),
    ],
)
def test_what_slurm_allocates_is_left_to_the_site(settings: str, line: str, tmp_path: Path) -> None:
    others = "ClusterName=a\nSlurmctldHost=a\nStateSaveLocation=/var/spool/slurmctld\n"
    partition = "PartitionName=p Nodes=a SelectTypeParameters=CR_Socket\n"
    result = of(tmp_path, f"{others}{settings}{line}\n{partition}")
    site: dict[str, Any] = data(result, "slurm.yml")["slurm"]  # type: ignore[assignment]
    assert "select" in site["left"]
    written = {f"{key}={value}\n" for key, value in site["parameters"].items() if key.startswith("Select")}
    assert written == {*settings.splitlines(keepends=True)}
    assert list(map(str, result.differences or [])) == []


def test_of_two_default_partitions_the_last_counts(tmp_path: Path) -> None:
    text = "NodeName=a\nPartitionName=p Nodes=a Default=YES\nPartitionName=q Nodes=a Default=YES\n"
    result = of(tmp_path, text)
    assert [one for one in result.differences or [] if one.key == "default"] == []
    assert "Default=YES is repeated" in str(result.troubles[0])


def test_the_site_s_plugin_and_topology_are_copied(tmp_path: Path) -> None:
    (tmp_path / "job_submit.lua").write_text("function slurm_job_submit() return 0 end\n")
    topology = "SwitchName=s1 Nodes=n[1-2]\n"
    result = of(tmp_path, "JobSubmitPlugins=lua\nNodeName=n[1-2] CPUs=4\n", topology=topology)
    assert result.files["slurm/topology.conf"] == topology
    assert "slurm/job_submit.lua" in result.files


@pytest.mark.parametrize(
    ("text", "message"),
    [("ClusterName=a\n", "no line of nodes"), ("NodeName=a[1-\n", "no line of nodes that can be read")],
)
def test_a_slurm_conf_without_nodes_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(GpupoolError, match=message):
        of(tmp_path, text)


def test_a_folder_without_slurm_conf_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no slurm\.conf"):
        adopted(Folder(tmp_path), "24.11")


def test_a_slurm_conf_that_cannot_be_read_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    (tmp_path / "slurm.conf").write_text("NodeName=a\n")
    (tmp_path / "copy" / "slurm.conf").symlink_to(tmp_path / "slurm.conf")
    with pytest.raises(GpupoolError, match=r"copy/slurm\.conf: not read: it leads out of the folder; copy the file"):
        adopted(Folder(tmp_path / "copy"), "24.11")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, who can become another user")
@pytest.mark.parametrize(
    ("folder", "file", "message"),
    [
        (0o755, 0o600, r"copy/slurm\.conf: cannot be read: Permission denied"),
        (0o744, 0o644, r"copy/slurm\.conf: cannot be read: Permission denied"),
        (0o711, 0o644, r"copy cannot be read: Permission denied"),
    ],
)
def test_files_of_another_user_are_refused_with_the_reason(folder: int, file: int, message: str) -> None:
    with tempfile.TemporaryDirectory() as top:
        copy = Path(top) / "copy"
        copy.mkdir()
        (copy / "slurm.conf").write_text("NodeName=a\n")
        (copy / "slurm.conf").chmod(file)
        copy.chmod(folder)
        Path(top).chmod(0o755)
        os.seteuid(20001)
        try:
            with pytest.raises(GpupoolError, match=message):
                adopted(Folder(copy), "24.11")
        finally:
            os.seteuid(0)


def test_a_folder_with_files_is_never_written(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    with pytest.raises(UsageError, match="is not empty"):
        ensure_new(tmp_path)


def test_an_inventory_is_written_whole_with_no_trace_of_its_making(tmp_path: Path) -> None:
    write(tmp_path / "new", {"cluster.yml": "a", "slurm/x.conf": "b"})
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == [
        "new", "new/cluster.yml", "new/slurm", "new/slurm/x.conf",
    ]  # fmt: skip
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    "line",
    [
        "NodeName=a CPUs=x Sockets=-1 RealMemory=1e9 Weight=99999999999999999999",
        "NodeName=a Gres=gpu:,gpu::,:,gpu:a:b:c:1,shard:4 Feature=,, State=",
        "NodeName=localhost CPUs=0 Boards=0",
        "NodeName=a[1-3] NodeAddr=10.0.0.[1-2] Gres=gpu:9999999999",
        'NodeName=a Reason="a b" Weird.Key=1 9x=2',
        "NodeName=a\nPartitionName=p Nodes=ALL MaxTime=x TRESBillingWeights=CPU,=,Mem=zG MaxNodes=0 GraceTime=-1",
        "NodeName=a\nPartitionName=a/b Nodes=a\nPartitionName=DEFAULT",
        "NodeName=a\nPriorityWeightQOS=1e400\nDefMemPerCPU=9e9\nSlurmctldTimeout=-\nPrivateData=,,\nx=1\n9=1",
        "NodeName=a\u0000\u001b31m CPUs=1",
        "NodeName=a\nSlurmctldHost=)(\nSlurmctldHost=(((\nAccountingStorageHost=300.1.1.1",
        "NodeName=a,b,a,__,- Gres=gpu:é:1",
        "NodeName=a CPUs=99999999999999999\nPartitionName=p Nodes=a TRESBillingWeights=CPU=nan,Mem=inf",
    ],
)
def test_odd_values_lead_to_an_inventory_and_never_to_a_traceback(tmp_path: Path, line: str) -> None:
    result = of(tmp_path, f"ClusterName=a\n{line}\n", gres="Name=gpu File=/dev/x[1-\nName=\nAutoDetect=x\n")
    assert "nodes.yml" in result.files
    for name in ("cluster.yml", "nodes.yml", "slurm.yml"):
        yaml.safe_load(result.files[name])


@pytest.mark.parametrize("word", ["YES", "True", "1", "up"])
def test_every_word_for_yes_makes_a_partition_the_default(tmp_path: Path, word: str) -> None:
    """src/common/parse_value.c, s_p_handle_boolean."""
    result = of(tmp_path, f"ClusterName=a\nNodeName=n1\nPartitionName=p Nodes=n1 Default={word}\n")
    assert "default_partition: p" in result.files["slurm.yml"]
