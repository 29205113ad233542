"""The promises of an inventory are computed from the inventory, not from the compiled files."""

import ast
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inventories import SMALL, changed, cluster_at

import gpupool.rehearsal
from gpupool.cluster.units import parse_duration as duration
from gpupool.rehearsal.expected import Expected
from gpupool.rehearsal.expected_claims import (
    Piece,
    hand_out,
    one_more,
    requested_gpus,
    singles,
    whole_nodes,
    with_cpus,
)
from gpupool.rehearsal.promises import order, walls

HERE = Path(gpupool.rehearsal.__path__[0])
INVENTORIES = Path(__file__).parents[3] / "inventory"
OURS = [
    *sorted(HERE.glob("expected*.py")),
    HERE / "stage.py",
    HERE / "run.py",
    *sorted((HERE / "promises").glob("*.py")),
]


def expected(name: str) -> Expected:
    return Expected(cluster_at(INVENTORIES / name))


SKYNET, EXAMPLE = expected("skynet"), expected("example")


@pytest.mark.parametrize("file", OURS, ids=lambda file: file.stem)
def test_expectations_do_not_come_from_the_compiler(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text())):
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        for module in modules:
            assert not module.startswith(("gpupool.compile", "gpupool.rehearsal.twin.compiled")), module


def test_modules_of_expectations_import_no_compiler() -> None:
    code = (
        "import gpupool.rehearsal.expected_claims, sys; print([it for it in sys.modules if it.startswith('gpupool')])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "gpupool.cluster.model" in loaded
    assert "gpupool.compile" not in loaded


@pytest.mark.parametrize("file", OURS, ids=lambda file: file.stem)
def test_the_code_contains_no_name_of_an_inventory(file: Path) -> None:
    names = {
        name
        for expected in (SKYNET, EXAMPLE)
        for name in (
            *expected.cluster.nodes,
            *expected.cluster.accounts,
            *expected.cluster.users,
            *expected.cluster.partitions,
        )
    } - {"files", "debug", "short", "long", "overcap", "user-overcap"}
    own = {"debug", "short", "long"}  # as whole strings: they are also plain words
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert node.value not in own
            assert not names & set(re.findall(r"[\w-]+", node.value)), node.value


@pytest.mark.promise("SKY-034", "SKY-035")
def test_labs_have_the_caps_of_the_inventory_and_share_the_pool() -> None:
    caps = {lab.name: lab.cap for lab in SKYNET.labs}
    assert caps["kira-lab"] == 32
    assert sum(caps.values()) == SKYNET.pool == 284


@pytest.mark.promise("SKY-187")
def test_labs_use_their_own_partitions_or_the_common_one() -> None:
    homes = {lab.partition for lab in SKYNET.labs}
    assert "short" in homes
    assert homes & {lab.name for lab in SKYNET.labs}


def test_preemptable_partitions_are_ordered_by_tier() -> None:
    assert [partition.name for partition in SKYNET.preemptable] == ["overcap", "user-overcap"]
    assert [(loan.partition.name, loan.account) for loan in SKYNET.loans] == [("overcap", "overcap")]
    assert [partition.name for partition in SKYNET.lab_loans("wu-lab")] == ["user-overcap"]
    assert not EXAMPLE.lab_loans("vision-lab")


@pytest.mark.parametrize(
    ("partition", "qos", "wall"),
    [
        ("short", None, "2d"),
        ("long", None, "7d"),
        ("debug", "long", "4h"),
        ("kira-lab", "short", "2d"),
        ("kira-lab", "long", "7d"),
        ("kira-lab", "debug", "4h"),
        ("overcap", None, "2d"),
    ],
)
@pytest.mark.promise("SKY-103", "SKY-153", "SKY-154", "SKY-155")
def test_the_time_limit_is_the_shorter_of_partition_and_qos(partition: str, qos: str | None, wall: str) -> None:
    assert SKYNET.wall(SKYNET.cluster.partitions[partition], qos, "kira-lab") == duration(wall)


@pytest.mark.promise("SKY-158", "SKY-125")
def test_a_users_limit_is_that_of_the_qos_unless_the_partition_lifts_it() -> None:
    user = SKYNET.cluster.users["u-cvmlp1"]
    of = SKYNET.cluster.partitions
    assert SKYNET.allowance(user, of["short"], "cvmlp-lab").gpu == 16
    assert SKYNET.allowance(user, of["short"], "cvmlp-lab").cpu == 112
    assert SKYNET.allowance(user, of["debug"], "cvmlp-lab").gpu == 5
    assert SKYNET.allowance(user, of["user-overcap"], "cvmlp-lab").gpu is None
    assert SKYNET.allowance(SKYNET.cluster.users["u-wu1"], of["short"], "wu-lab").gpu is None


@pytest.mark.promise("SKY-132")
def test_the_cpus_of_a_gpu_are_available_on_every_node_of_its_type() -> None:
    assert SKYNET.cpus_per_gpu == {"titan_x": 4, "2080_ti": 7, "rtx_6000": 7, "a40": 15}
    assert EXAMPLE.cpus_per_gpu == {"a40": 16, "rtx_6000": 8}


@pytest.mark.parametrize("expected", [SKYNET, EXAMPLE], ids=["skynet", "example"])
def test_each_shape_of_claims_is_every_labs_whole_cap_and_fits_the_nodes(expected: Expected) -> None:
    first, rest = whole_nodes(expected)
    for requests in (singles(expected), with_cpus(expected), {lab: [*first[lab], *rest[lab]] for lab in first}):
        assert {lab.name: lab.cap for lab in expected.labs} == {lab: requested_gpus(requests[lab]) for lab in requests}
        by_type = Counter[str]()
        for request in (request for lab in requests.values() for request in lab):
            if request.gpu_type:
                by_type[request.gpu_type] += request.gpus * request.count
        counts = Counter[str]()
        for node in expected.compute:
            counts.update(dict(node.gpus))
        assert all(by_type[gpu] <= counts[gpu] for gpu in by_type)


@pytest.mark.parametrize("expected", [SKYNET, EXAMPLE], ids=["skynet", "example"])
def test_no_claim_is_above_a_labs_share_of_cpus(expected: Expected) -> None:
    for requests in (with_cpus(expected), whole_nodes(expected)[0]):
        for lab in expected.labs:
            cpus = sum((request.cpus or 1) * request.count for request in requests[lab.name])
            assert lab.group.cpu is None or cpus <= lab.group.cpu


def test_the_job_above_the_cap_has_a_user_without_a_lower_limit() -> None:
    cvmlp = next(lab for lab in SKYNET.labs if lab.name == "cvmlp-lab")
    assert one_more(SKYNET, cvmlp).partition == "user-overcap"
    assert all(one_more(SKYNET, lab).partition == lab.partition for lab in SKYNET.labs if lab.name != "cvmlp-lab")


def test_a_job_that_must_name_a_type_names_a_type_with_nodes(tmp_path: Path) -> None:
    """An inventory may keep a type that no node has any more, even as its first type."""
    unused = ("\ngpu_types:\n", "\ngpu_types:\n  h100: {models: [H100]}\n")
    refused = ("\nscheduler:\n", "\nscheduler:\n  untyped_gpus: refuse\n")
    expected = Expected(changed(INVENTORIES / "skynet", tmp_path, unused, refused))
    assert list(expected.cluster.gpu_types) == list(SKYNET.cluster.gpu_types)
    assert one_more(expected, expected.labs[0]).gpu_type in {gpu for node in expected.compute for gpu in node.gpus}


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 8), st.integers(1, 20)), max_size=40))
def test_no_users_claims_exceed_the_users_limit(pieces: list[tuple[int, int]]) -> None:
    lab = next(lab for lab in SKYNET.labs if lab.name == "cvmlp-lab")
    requests = hand_out(SKYNET, lab, [Piece(gpus, cpus) for gpus, cpus in pieces])
    assert requested_gpus(requests) == sum(
        gpus for gpus, _ in pieces
    )  # the rest spills over into partitions without limits
    for user in lab.members:
        mine = [request for request in requests if request.user == user.name and request.owned]
        assert requested_gpus(mine) <= 16
        assert sum((request.cpus or 1) * request.count for request in mine) <= 112


def test_a_lab_whose_users_have_limits_and_no_other_partition_falls_short() -> None:
    cluster = SKYNET.cluster
    overcap = cluster.partitions["user-overcap"]
    entry = overcap.entry.model_copy(update={"lift": ()})
    closed = replace(overcap, entry=entry, deny_accounts=("overcap", "cvmlp-lab"))
    expected = Expected(replace(cluster, partitions={**cluster.partitions, "user-overcap": closed}))
    assert requested_gpus(singles(expected)["cvmlp-lab"]) == 32


def test_a_job_requests_a_type_of_gpu_that_nodes_have(tmp_path: Path) -> None:
    """The inventory may have types without nodes, even as its first type."""
    unused = ("  a40: {models: [A40]}", "  h100: {models: [H100]}\n  a40: {models: [A40]}")
    cluster = changed(SMALL, tmp_path, unused, ("scheduler: {", "scheduler: {untyped_gpus: refuse, "))
    assert Expected(cluster).type_in("all") == "a40"


def test_order_says_whether_ranks_or_limits_leave_it_unmade(tmp_path: Path) -> None:
    """Debug is before all others, but allows a user fewer GPUs than a node has."""
    alone = changed(SMALL, tmp_path / "one", ("    tier: 10\n", ""))
    assert order._not_made_because(Expected(alone)) == "no two partitions or QoS differ in rank"
    limits = "    tier: 10\n    limits: {per_user: {gpu: 2}}\n"
    limited = changed(SMALL, tmp_path / "two", ("    tier: 10\n", limits))
    reason = "no two partitions or QoS that differ in rank allow a lab a job on all 8 GPUs of gpu-1, "
    assert order._not_made_because(Expected(limited)) == f"{reason}the node with the fewest"
    assert order._not_made_because(Expected(cluster_at(SMALL))) is None


def test_single_gpus_are_claimed_and_walls_tried_where_the_partition_and_the_account_allow_them() -> None:
    gilbreth = expected("others/gilbreth")
    places = {owned.name: owned.places for owned in gilbreth.owned_hardware}
    # training, the largest partition, takes only jobs with four GPUs
    assert places["physics"] == {"a100-40gb": "a100-40gb", "v100": "v100"}
    requests = {case.request.partition: case.request for case in walls.cases(gilbreth)}
    assert (requests["a10"].account, requests["a10"].gpu_type, requests["a10"].gpus) == ("flight", "a10", 1)
    assert (requests["training"].account, requests["training"].gpus) == ("physics", 4)
