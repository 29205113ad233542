"""Every limit of an inventory is at its place in the wanted state of slurmdbd, and there are no other limits."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inventories import SMALL, cluster_at

from gpupool.cluster.model import Cluster
from gpupool.cluster.schema.labs import Amounts, Limits
from gpupool.compile.slurm.accounting import entities
from gpupool.compile.slurm.floor import memory
from gpupool.operations.accounting import normal

CLUSTER = cluster_at(SMALL)
MINUTES = st.integers(1, 500_000)
COUNTS = st.one_of(st.none(), st.integers(0, 10_000))
TRES = ("gpu", "cpu", "mem", "nodes", "billing")
# Slurm's field for each kind of limit, by entity; written a second time here, so that a lost limit is noticed
FIELDS = {
    ("account", "group"): ("GrpTRES", "GrpJobs", "GrpSubmit", "GrpWall"),
    ("account", "group_minutes"): ("GrpTRESMins", None, None, None),
    # not MaxSubmit: a QoS's MaxSubmitPU would override it
    ("account", "per_user_minutes"): ("GrpTRESMins", None, None, None),
    ("account", "per_user"): ("GrpTRES", "GrpJobs", "GrpSubmit", None),
    ("account", "per_job"): ("MaxTRES", None, None, "MaxWall"),
    ("qos", "group"): ("GrpTRES", "GrpJobs", "GrpSubmit", "GrpWall"),
    ("qos", "group_minutes"): ("GrpTRESMins", None, None, None),
    ("qos", "per_user"): ("MaxTRESPU", "MaxJobsPU", "MaxSubmitPU", None),
    ("qos", "per_account"): ("MaxTRESPA", "MaxJobsPA", "MaxSubmitPA", None),
    ("qos", "per_job"): ("MaxTRES", None, None, "MaxWall"),
    ("qos", "per_job_least"): ("MinTRES", None, None, None),
}
NAMES = {"gpu": "gres/gpu", "cpu": "cpu", "mem": "mem", "nodes": "node", "billing": "billing"}
Fact = tuple[str, str, str, object]


def amounts(*, jobs: bool = False, wall: bool = False) -> st.SearchStrategy[Amounts]:
    return st.builds(
        lambda plain, gpus, count, sent, time: Amounts.model_construct(
            **plain, gpus=gpus, jobs=count, submitted=sent, wall=time
        ),
        st.fixed_dictionaries(dict.fromkeys(TRES, COUNTS)),
        st.dictionaries(st.sampled_from(["a40", "rtx_6000"]), st.integers(0, 99)),
        COUNTS if jobs else st.none(),
        COUNTS if jobs else st.none(),
        st.one_of(st.none(), MINUTES.map(lambda minutes: minutes * 60)) if wall else st.none(),
    )


LIMITS = st.builds(
    lambda group, minutes, user, user_minutes, each, job, least: Limits.model_construct(
        group=group,
        group_minutes=minutes,
        per_user=user,
        per_user_minutes=user_minutes,
        per_account=each,
        per_job=job,
        per_job_least=least,
    ),
    amounts(jobs=True, wall=True),
    amounts(),
    amounts(jobs=True),
    amounts(),
    amounts(jobs=True),
    amounts(wall=True),
    amounts(),
)
KINDS = ("group", "group_minutes", "per_user", "per_job")
# limits that the other entity lacks
OF_ONE = {"account": ("per_user_minutes",), "qos": ("per_account", "per_job_least")}


def cluster_with(account: Limits, qos: Limits, partition: Limits) -> Cluster:
    """Return the small cluster with these limits on the account red, the QoS normal and the partition all."""
    return replace(
        CLUSTER,
        accounts={**CLUSTER.accounts, "red": replace(CLUSTER.accounts["red"], limits=account)},
        qos={**CLUSTER.qos, "normal": CLUSTER.qos["normal"].model_copy(update={"limits": qos})},
        partitions={**CLUSTER.partitions, "all": replace(CLUSTER.partitions["all"], limits=partition)},
    )


def asked(on: str, where: str, limits: Limits) -> Iterator[Fact]:
    """Yield every limit of a block: the entity, Slurm's field, the limited resource, the amount."""
    for kind in (*KINDS, *OF_ONE[on]):
        limit = getattr(limits, kind)
        at = "user ann in red" if on == "account" and kind.startswith("per_user") else where
        tres, jobs, submitted, wall = FIELDS[on, kind]
        named: list[tuple[str, Any]] = [(NAMES[key], getattr(limit, key)) for key in TRES]
        named += [(f"gres/gpu:{gpu}", count) for gpu, count in limit.gpus.items()]
        yield from ((at, tres or "", name, count) for name, count in named if count is not None)
        if limit.jobs is not None:
            yield (at, jobs or "", "", limit.jobs)
        if limit.submitted is not None:
            yield (at, submitted or "", "", limit.submitted)
        if limit.wall is not None:
            yield (at, wall or "", "", limit.wall // 60)


def found(wanted: dict[str, Any]) -> Iterator[Fact]:
    """Yield every limit that slurmdbd would get."""
    clean = normal(wanted)
    owners = [(f"qos {name}", fields) for name, fields in clean["qos"].items()]
    owners += [(f"account {name}", fields) for name, fields in clean["accounts"].items()]
    for user, fields in clean["users"].items():
        owners += [(f"user {user} in {name}", values) for name, values in fields["accounts"].items()]
    for where, values in owners:
        for field, value in values.items():
            if isinstance(value, dict):
                yield from ((where, field, name, number) for name, number in value.items())
            elif field.startswith(("Grp", "Max", "Min")) and value is not None:
                yield (where, field, "", value)


@pytest.mark.promise("SKY-034", "SKY-158")
@given(account=LIMITS, qos=LIMITS, partition=LIMITS)
def test_every_limit_is_set_and_no_other(account: Limits, qos: Limits, partition: Limits) -> None:
    wanted = {
        *asked("account", "account red", account),
        *asked("qos", "qos normal", qos),
        *asked("qos", "qos partition-all", partition),
        ("account blue", "GrpTRES", "gres/gpu", 6),
    }
    cluster = cluster_with(account, qos, partition)
    floors = {name: memory(cluster, each) for name, each in cluster.accounts.items()}
    wanted |= {(f"account {name}", "GrpTRES", "mem", most) for name, most in floors.items() if most is not None}
    there = list(found(entities(cluster)))
    assert len(there) == len(set(there))
    assert set(there) == wanted


NONE = Limits()


@given(limits=LIMITS)
def test_a_removed_limit_is_cleared(limits: Limits) -> None:
    """A field whose limit was removed has the value that means no limit."""
    before, after = (normal(entities(cluster_with(limit, limit, NONE))) for limit in (limits, NONE))
    for kind in ("qos", "accounts"):
        for name, values in before[kind].items():
            if name in after[kind]:
                assert set(values) <= set(after[kind][name])
    assert set(before["users"]["ann"]["accounts"]["red"]) <= set(after["users"]["ann"]["accounts"]["red"])
