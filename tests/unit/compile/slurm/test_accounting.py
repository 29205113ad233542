"""The wanted entities of slurmdbd for SkyNet, and for inventories with fewer keys."""

from datetime import date, timedelta
from pathlib import Path

import pytest
from inventories import INVENTORY, SMALL, changed, cluster_at

from gpupool.cluster.model import Cluster
from gpupool.compile.slurm.accounting import UNBOUNDED, entities, partition_qos
from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.slurm.floor import memory
from gpupool.operations.accounting import normal

INVENTORIES = sorted(path.parent.name for path in INVENTORY.glob("*/inventory.py"))


OWN_CPUS = "gid: 5001, limits: {group: {cpu: 20}}"


def set_fields(entity: dict[str, object]) -> dict[str, object]:
    """Return the fields that an entity sets: an empty field removes a limit."""
    return {key: value for key, value in entity.items() if value not in (None, {}, [])}


@pytest.mark.promise("SKY-030", "SKY-031", "SKY-034", "SKY-035", "SKY-037")
def test_the_cap_of_a_lab_is_its_contribution_of_any_type(skynet: Cluster) -> None:
    accounts = entities(skynet)["accounts"]
    labs = [name for name, account in skynet.accounts.items() if account.entry.kind == "lab"]
    assert len(labs) == 14
    for lab in labs:
        assert not [tres for tres in accounts[lab]["GrpTRES"] if tres.startswith("gres/gpu:")]
        assert accounts[lab]["parent"] == "root"
    assert sum(accounts[lab]["GrpTRES"]["gres/gpu"] for lab in labs) == 284
    assert accounts["cvmlp-lab"]["GrpTRES"]["gres/gpu"] == 64


@pytest.mark.promise("SKY-116")
def test_a_labs_share_of_cpus_is_proportional_to_its_cap(skynet: Cluster) -> None:
    for name, account in skynet.accounts.items():
        if account.entry.kind == "lab":
            gpus = account.limits.group.gpu or 0
            wanted = {"cpu": 16 * gpus, "gres/gpu": gpus, "mem": memory(skynet, account)}
            assert entities(skynet)["accounts"][name]["GrpTRES"] == wanted


PARTS = "max_memory: {per_gpu: 60G, per_cpu: 2G}"


@pytest.mark.parametrize(
    ("changes", "red", "blue"),
    [
        # 10 GPUs at the memory of a whole node for each of its 8 GPUs, 6 GPUs at 60G; 32 CPUs that are not kept at 2G
        ((), 635699 + 32 * 2048, 6 * 61440 + 32 * 2048),
        (
            [
                ("scheduler: {", "scheduler: {lab_share: {cpu: 4}, "),
                ("max_memory: {per_gpu: 60G", "max_memory: {per_gpu: 40G"),
            ],
            10 * 40960 + 32 * 2048,
            6 * 40960 + 24 * 2048,
        ),
        (
            [(PARTS, "max_memory: {per_gpu: {a40: 60G, default: 1G}, per_cpu: 2G}")],
            635699 + 32 * 2048,
            6 * 61440 + 32 * 2048,
        ),
        ([(PARTS, "max_memory: {per_gpu: 60G}")], None, None),
        ([(PARTS, "max_memory: {per_cpu: 2G}")], None, None),
        ([("gid: 5001", "gid: 5001, limits: {group: {mem: 700G}}")], 700 * 1024, 6 * 61440 + 32 * 2048),
    ],
    ids=[
        "no limit on CPUs",
        "fewer CPUs than a node",
        "by type",
        "no limit for CPUs",
        "no limit for GPUs",
        "its own limit",
    ],
)
def test_a_labs_memory_is_the_most_that_its_jobs_may_request(
    tmp_path: Path, changes: list[tuple[str, str]], red: int | None, blue: int | None
) -> None:
    accounts = entities(changed(SMALL, tmp_path, *changes))["accounts"]
    assert (accounts["red"]["GrpTRES"].get("mem"), accounts["blue"]["GrpTRES"].get("mem")) == (red, blue)


def test_accounts_that_borrow_or_own_nodes_have_no_limit_on_memory() -> None:
    owned = cluster_at(SMALL.parent / "owned")
    limits = {name: account["GrpTRES"].get("mem") for name, account in entities(owned)["accounts"].items()}
    assert [name for name, limit in limits.items() if limit is None] == ["dm", "pot"]


def test_a_labs_own_limit_overrides_its_share(tmp_path: Path) -> None:
    cluster = changed(
        SMALL, tmp_path, ("scheduler: {", "scheduler: {lab_share: {cpu: 8, mem: 128G}, "), ("gid: 5001", OWN_CPUS)
    )
    accounts = entities(cluster)["accounts"]
    assert accounts["red"]["GrpTRES"] == {"cpu": 20, "mem": 10 * 128 * 1024, "gres/gpu": 10}
    assert accounts["blue"]["GrpTRES"] == {"cpu": 48, "mem": 6 * 128 * 1024, "gres/gpu": 6}


@pytest.mark.promise("SKY-032", "SKY-119")
def test_all_users_may_use_overcap_and_it_has_no_cap(skynet: Cluster) -> None:
    wanted = entities(skynet)
    assert set_fields(wanted["accounts"]["overcap"]) == {"parent": "root"}
    assert all("overcap" in user["accounts"] for user in wanted["users"].values())
    assert all(user["default_account"] != "overcap" for user in wanted["users"].values())


@pytest.mark.promise("SKY-033")
def test_users_belong_to_their_lab(skynet: Cluster) -> None:
    user = entities(skynet)["users"]["u-kira1"]
    unlimited: dict[str, object] = {"GrpTRES": {}, "GrpJobs": None, "MaxSubmit": 2000, "GrpSubmit": 2000}
    assert user == {
        "default_account": "kira-lab",
        "accounts": {
            "kira-lab": {"qos": ["debug", "long", "normal", "short"], "default_qos": "normal", **unlimited},
            "overcap": {"qos": ["debug", "long", "normal", "short"], "default_qos": "normal", **unlimited},
        },
    }


@pytest.mark.promise("AAU-034")
def test_a_grant_ends_after_its_day() -> None:
    cluster = cluster_at(INVENTORY / "aau-ai-cloud")
    user = next(user for user in cluster.users.values() if user.entry.grants)
    (grant,) = user.entry.grants

    def qos(day: date) -> list[str]:
        own: list[str] = entities(cluster, day)["users"][user.name]["accounts"][user.account]["qos"]
        return own

    assert qos(grant.until) == sorted({*user.qos, grant.qos})
    assert qos(grant.until + timedelta(days=1)) == sorted(user.qos)
    others = [user for user in cluster.users.values() if not user.entry.grants]
    assert all(
        grant.qos not in entities(cluster, grant.until)["users"][other.name]["accounts"][other.account]["qos"]
        for other in others
    )


@pytest.mark.promise("SKY-033")
def test_a_labs_admin_manages_its_members_and_no_others(skynet: Cluster) -> None:
    accounts = entities(skynet)["accounts"]
    assert accounts["kira-lab"]["coordinators"] == ["u-kira2"]
    assert accounts["overcap"]["coordinators"] == []
    assert sum(len(account["coordinators"]) for account in accounts.values()) == 14


@pytest.mark.promise("SKY-124", "SKY-153", "SKY-154", "SKY-155")
def test_qos_have_time_limits_and_priorities(skynet: Cluster) -> None:
    qos = entities(skynet)["qos"]
    walls = {name: fields.get("MaxWall") for name, fields in qos.items() if not name.startswith("partition-")}
    assert walls == {
        "normal": None,
        "short": "2-00:00:00",
        "long": "7-00:00:00",
        "debug": "04:00:00",
        "cvmlp-user-limits": None,
    }
    assert qos["debug"]["Priority"] > qos["short"]["Priority"] > qos["long"]["Priority"]
    assert set_fields(qos["debug"])["MaxTRESPU"] == {"gres/gpu": 5}


@pytest.mark.promise("SKY-125")
def test_limits_of_cvmlp_hold_per_user_and_user_overcap_lifts_them(skynet: Cluster) -> None:
    wanted = entities(skynet)
    assert set_fields(wanted["qos"]["cvmlp-user-limits"])["MaxTRESPU"] == {"cpu": 112, "gres/gpu": 16}
    assert wanted["users"]["u-cvmlp1"]["accounts"]["cvmlp-lab"]["default_qos"] == "cvmlp-user-limits"
    assert wanted["users"]["u-cvmlp1"]["accounts"]["overcap"]["default_qos"] == "normal"
    assert wanted["qos"]["partition-user-overcap"]["MaxTRESPU"] == {"cpu": UNBOUNDED, "gres/gpu": UNBOUNDED}
    # a group limit in a QoS would hide the labs' caps
    assert all(not fields["GrpTRES"] for fields in wanted["qos"].values())


def test_a_partition_that_lifts_a_limit_of_the_qos_keeps_its_own(tmp_path: Path) -> None:
    places = "\n  - {name: own, nodes: '@compute', lift: [per_user], limits: {per_user: {gpu: 2}}}\nscheduler: {"
    own = entities(changed(SMALL, tmp_path, ("\nscheduler: {", places)))["qos"]["partition-own"]
    assert own["MaxTRESPU"] == {"cpu": UNBOUNDED, "gres/gpu": 2}


@pytest.mark.parametrize(("most", "submitted"), [("", UNBOUNDED), ("max_submitted_jobs: 900, ", 900)])
def test_a_partition_lifts_every_limit_per_user_of_the_qos(tmp_path: Path, most: str, submitted: int) -> None:
    limits = "{mem: 64G, nodes: 2, jobs: 3, submitted: 5}"
    qos = ("normal: {default: true}", f"normal: {{default: true, limits: {{per_user: {limits}}}}}")
    places = f"\n  - {{name: own, nodes: '@compute', lift: [per_user]}}\nscheduler: {{{most}"
    own = entities(changed(SMALL, tmp_path, qos, ("\nscheduler: {", places)))["qos"]["partition-own"]
    unbounded = {"cpu": UNBOUNDED, "gres/gpu": UNBOUNDED, "mem": 1000 * UNBOUNDED, "node": UNBOUNDED}
    assert own["MaxTRESPU"] == unbounded
    assert (own["MaxJobsPU"], own["MaxSubmitPU"]) == (UNBOUNDED, submitted)


def test_a_partition_lifts_limits_of_the_qos_that_it_takes(tmp_path: Path) -> None:
    qos = ("normal: {default: true}", "normal: {default: true}\n  other: {limits: {per_user: {mem: 64G, jobs: 3}}}")
    places = "\n  - {name: own, nodes: '@compute', lift: [per_user], qos: [normal]}\nscheduler: {"
    own = entities(changed(SMALL, tmp_path, qos, ("\nscheduler: {", places)))["qos"]["partition-own"]
    assert own["MaxTRESPU"] == {"cpu": UNBOUNDED, "gres/gpu": UNBOUNDED}
    assert own["MaxJobsPU"] is None


@pytest.mark.promise("SKY-153")
def test_debug_has_its_limit_for_jobs_of_every_qos(skynet: Cluster) -> None:
    assert set_fields(entities(skynet)["qos"]["partition-debug"])["MaxTRESPU"] == {"gres/gpu": 5}
    assert {
        partition.name: partition_qos(partition) for partition in skynet.partitions.values() if partition_qos(partition)
    } == {
        "debug": "partition-debug",
        "user-overcap": "partition-user-overcap",
    }


@pytest.mark.parametrize("folder", INVENTORIES)
def test_the_default_account_and_qos_are_among_those_of_the_user(folder: str) -> None:
    wanted = entities(cluster_at(INVENTORY / folder))
    for name, user in wanted["users"].items():
        assert user["default_account"] in user["accounts"]
        for values in user["accounts"].values():
            assert ("default_qos" in values) <= ("qos" in values), name
            assert values.get("default_qos", "") in ("", *values.get("qos", []))
            assert set(values.get("qos", [])) <= set(wanted["qos"]) | {"normal"}


@pytest.mark.parametrize("folder", INVENTORIES)
def test_slurm_conf_names_only_qos_that_slurmdbd_gets(folder: str) -> None:
    cluster = cluster_at(INVENTORY / folder)
    words = slurm_conf(cluster).split()
    named = {qos for word in words if word.startswith(("QOS=", "AllowQos=")) for qos in word.split("=")[1].split(",")}
    assert named <= set(entities(cluster)["qos"])


@pytest.mark.parametrize("folder", INVENTORIES)
def test_the_operation_accepts_all_accounts_and_qos(folder: str) -> None:
    wanted = entities(cluster_at(INVENTORY / folder))
    assert set(normal(wanted)["accounts"]) == set(wanted["accounts"])


def test_without_qos_users_keep_slurmdbds_default(tmp_path: Path) -> None:
    wanted = entities(changed(SMALL, tmp_path, ("qos:\n  normal: {default: true}\n", "")))
    assert wanted["qos"] == {"normal": {"MaxSubmitPU": None, "Flags": ["DenyOnLimit"]}}
    limits = {"GrpTRES": {}, "GrpJobs": None, "MaxSubmit": None}
    assert wanted["users"]["ann"] == {"default_account": "red", "accounts": {"red": limits}}


def test_all_kinds_of_limits_are_set(tmp_path: Path) -> None:
    limits = (
        "limits: {group: {gpus: {a40: 12}, cpu: 64, mem: 1T, nodes: 2, billing: 7, jobs: 9, wall: 30d}, "
        "group_minutes: {gpu: 60}, per_user: {gpu: 3, jobs: 2}, per_job: {nodes: 1, wall: 3h}}"
    )
    cluster = changed(
        SMALL,
        tmp_path,
        ("contributed_gpus: 10}", f"contributed_gpus: 10, fairshare: 5, parent: blue, {limits}}}"),
        (
            "contributed_gpus: 6}",
            "contributed_gpus: 6, parent: top}\n  - {name: top, kind: department, limits: {group: {gpu: 16}}}",
        ),
        ("{default: true}", "{default: true, limits: {per_user: {jobs: 4, mem: 10G}}}"),
        ("tier: 10", "limits: {per_user: {jobs: 0}, per_job: {cpu: 8}}"),
        ("scheduler: {", "scheduler: {untyped_gpus: refuse, "),
        ("- name: red\n", "- name: Red\n"),
    )
    wanted = entities(cluster)
    assert set_fields(wanted["accounts"]["red"]) == {
        "parent": "blue",
        "Fairshare": 5,
        "GrpTRES": {"cpu": 64, "mem": 1048576, "node": 2, "billing": 7, "gres/gpu": 10, "gres/gpu:a40": 12},
        "GrpTRESMins": {"gres/gpu": 60},
        "MaxTRES": {"node": 1},
        "GrpJobs": 9,
        "GrpWall": "30-00:00:00",
        "MaxWall": "03:00:00",
    }
    # Slurm has no limit of an account for each of its users: it is set on their associations
    assert set_fields(wanted["users"]["ann"]["accounts"]["red"]) == {
        "qos": ["normal"],
        "default_qos": "normal",
        "GrpTRES": {"gres/gpu": 3},
        "GrpJobs": 2,
    }
    # a job that exceeds a limit by its own request is refused
    every: dict[str, object] = {"Priority": 0, "Flags": ["DenyOnLimit"]}
    assert set_fields(wanted["qos"]["normal"]) == {**every, "MaxTRESPU": {"mem": 10240}, "MaxJobsPU": 4}
    # sacctmgr writes names in lower case
    assert set_fields(wanted["qos"]["partition-red"]) == {**every, "MaxJobsPU": 0, "MaxTRES": {"cpu": 8}}
    assert normal(wanted)


def test_submitted_jobs_of_a_user_are_limited_in_each_account_and_qos(skynet: Cluster) -> None:
    """Ten held arrays of a thousand tasks would be all the jobs that slurmctld accepts by default."""
    wanted, each = entities(skynet), skynet.scheduler.max_submitted_jobs
    assert each
    accounts = [account for user in wanted["users"].values() for account in user["accounts"].values()]
    assert {(account["MaxSubmit"], account["GrpSubmit"]) for account in accounts} == {(each, each)}
    assert {wanted["qos"][name]["MaxSubmitPU"] for name in skynet.qos} == {each}
    assert f"MaxJobCount={20 * each}" in slurm_conf(skynet).splitlines()


def test_the_qos_of_a_shared_account_is_allowed_there_only(tmp_path: Path) -> None:
    guest = (
        "  - {name: blue,",
        "  - {name: guest, kind: shared, members: all, limits: {group: {gpu: 0}}}\n  - {name: blue,",
    )
    cluster = changed(SMALL, tmp_path, guest, ("{default: true}", "{default: true}\n  short: {default_for: [guest]}"))
    accounts = entities(cluster)["users"]["ann"]["accounts"]
    assert (accounts["guest"]["qos"], accounts["guest"]["default_qos"]) == (["normal", "short"], "short")
    assert (accounts["red"]["qos"], accounts["red"]["default_qos"]) == (["normal"], "normal")


def test_a_qos_may_let_jobs_over_its_limits_wait(tmp_path: Path) -> None:
    flags = {name: fields["Flags"] for name, fields in entities(changed(SMALL, tmp_path / "a", PATIENT))["qos"].items()}
    assert flags == {"normal": ["DenyOnLimit"], "patient": []}
    everywhere = changed(SMALL, tmp_path / "b", PATIENT, ("scheduler: {", "scheduler: {over_limit: wait, "))
    assert {name: fields["Flags"] for name, fields in entities(everywhere)["qos"].items()} == {
        "normal": [],
        "patient": [],
    }


PATIENT = ("{default: true}", "{default: true}\n  patient: {over_limit: wait}")


def test_without_limits_on_jobs_slurms_default_qos_is_unchanged() -> None:
    assert entities(cluster_at(INVENTORY / "santos-dumont"))["qos"] == {}


def test_a_partition_cannot_raise_the_number_of_submitted_jobs(tmp_path: Path) -> None:
    """The limit of its QoS overrides that of the job's QoS."""
    more = ("tier: 10", "tier: 10\n    limits: {per_user: {submitted: 70}}")
    cluster = changed(SMALL, tmp_path, more, ("scheduler: {", "scheduler: {max_submitted_jobs: 50, "))
    assert {name: fields["MaxSubmitPU"] for name, fields in entities(cluster)["qos"].items()} == {
        "normal": 50,
        "partition-red": 50,
    }


def test_a_partition_for_jobs_with_gpus_enforces_that_in_slurmctld_too(tmp_path: Path) -> None:
    qos = entities(changed(SMALL, tmp_path, ("tier: 10", "tier: 10\n    without_gpu: all")))["qos"]
    assert qos["partition-red"]["MinTRES"] == {"gres/gpu": 1}
