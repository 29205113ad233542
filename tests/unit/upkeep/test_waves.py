"""The limits on nodes out of service hold, in all and for each lab, whatever fails and in any order."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from inventories import SMALL, changed, cluster_at

from gpupool.upkeep.shares import Share, losses, shares_of, worst
from gpupool.upkeep.waves import Bounds, next_nodes, too_much

NAMES = [f"n{number}" for number in range(8)]


@st.composite
def pools(draw: st.DrawFn) -> tuple[Share, ...]:
    """Draw labs that own GPUs of some nodes, at most as many as exist, and some that own whole nodes."""
    size = {name: draw(st.integers(1, 8)) for name in NAMES}
    shares = []
    for number in range(draw(st.integers(1, 4))):
        at = {name: size[name] for name in draw(st.sets(st.sampled_from(NAMES), min_size=1))}
        if draw(st.booleans()):
            shares.append(Share(f"lab{number}", sum(at.values()), at, whole=True))
        else:
            shares.append(Share(f"lab{number}", draw(st.integers(0, sum(at.values()))), at))
    return tuple(shares)


@given(pools(), st.integers(1, 4), st.one_of(st.none(), st.integers(0, 16)), st.sets(st.sampled_from(NAMES)), st.data())
def test_no_more_nodes_than_allowed_are_ever_out(
    shares: tuple[Share, ...], at_most: int, per_lab: int | None, down: set[str], data: st.DataObject
) -> None:
    bounds = Bounds(at_most, per_lab)
    waiting = [name for name in NAMES if name not in down]
    possible = worst(shares, waiting, at_most, down)
    working: list[str] = []
    while True:
        begun = next_nodes(waiting, working, down, bounds, shares)
        waiting = [name for name in waiting if name not in begun]
        working += begun
        lost = losses(shares, {*working, *down})
        assert len(working) <= at_most
        assert all(lost[name] <= possible[name] for name in lost)
        if per_lab is not None and begun:
            assert all(count <= per_lab for count in lost.values())
        if not working:
            break
        # one is done, or fails: then it stays out, and keeps its place
        working.remove(data.draw(st.sampled_from(working)))
    for name in waiting:
        assert too_much(bounds, shares, {*down, name}), "each node left alone exceeds a limit alone"


@given(pools(), st.sets(st.sampled_from(NAMES)), st.sets(st.sampled_from(NAMES)))
def test_more_nodes_out_never_reduce_the_loss_of_a_lab(
    shares: tuple[Share, ...], some: set[str], others: set[str]
) -> None:
    fewer, more = losses(shares, some), losses(shares, some | others)
    owned = {share.account: share.owned for share in shares}
    assert all(0 <= fewer[name] <= more[name] <= owned[name] for name in fewer)


def test_failed_nodes_count_as_out() -> None:
    assert next_nodes(["c", "d"], {"a", "b"}, (), Bounds(2), ()) == ()
    assert next_nodes(["c", "d"], {"a"}, (), Bounds(2), ()) == ("c",)


def test_an_owner_of_a_whole_pool_loses_the_gpus_of_each_node_out() -> None:
    cluster = cluster_at(SMALL)
    shares = shares_of(cluster)
    assert [(share.account, share.owned, dict(share.at)) for share in shares] == [
        ("red", 10, {"gpu-1": 8, "gpu-2": 8}),
        ("blue", 6, {"gpu-1": 8, "gpu-2": 8}),
    ]
    assert losses(shares, ["gpu-1"]) == {"red": 8, "blue": 6}
    assert losses(shares, ()) == {"red": 0, "blue": 0}


def test_spare_gpus_are_lost_before_those_of_labs(tmp_path: Path) -> None:
    cluster = changed(SMALL, tmp_path / "spare", ("contributed_gpus: 10}", "contributed_gpus: 2}"))
    assert losses(shares_of(cluster), ["gpu-1"]) == {"red": 0, "blue": 0}


def test_a_lab_that_owns_nodes_lacks_only_its_own(tmp_path: Path) -> None:
    cluster = changed(
        SMALL,
        tmp_path / "nodes",
        ("contributed_gpus: 10}", 'owns: "gpu-1"}'),
        ('nodes: "@compute"\n    max_time: 2d', 'nodes: "gpu-2"\n    max_time: 2d\n    allow_accounts: [blue]'),
        ('nodes: "@compute"\n    max_time: 4h', 'nodes: "gpu-1"\n    max_time: 4h'),
    )
    shares = shares_of(cluster)
    assert losses(shares, ["gpu-1"]) == {"red": 8, "blue": 0}
    assert losses(shares, ["gpu-2"]) == {"red": 0, "blue": 6}


def test_the_loss_of_a_lab_is_counted_in_its_unit() -> None:
    """Another owner's CPUs do not take GPUs: a combined count would hide what a lab already lacks."""
    gpus = Share("red", 8, {"n0": 8, "n1": 8})
    cpus = Share("blue", 64, {"n0": 64, "n1": 64}, "CPUs")
    assert losses((gpus, cpus), ["n0"]) == {"red": 0, "blue": 0}
    assert losses((gpus, cpus), ["n0", "n1"]) == {"red": 8, "blue": 64}
    assert worst((gpus, cpus), ["n0", "n1"], 2) == {"red": 8, "blue": 64}
    assert too_much(Bounds(2, 0), (gpus, cpus), ["n0", "n1"]) == {"red": 8}, "only GPUs are bounded"


def test_shares_have_the_unit_that_an_account_owns(tmp_path: Path) -> None:
    cluster = changed(
        SMALL,
        tmp_path / "mixed",
        ("contributed_gpus: 10}", "owns: {cpu: 64}}"),
        ("contributed_gpus: 6}", "owns: {cpu: 32}}"),
    )
    shares = {share.account: share for share in shares_of(cluster)}
    assert {(share.unit, share.owned) for share in shares.values()} == {("CPUs", 64), ("CPUs", 32)}
    assert shares["red"].at == {name: cluster.nodes[name].job_cpus for name in ("gpu-1", "gpu-2")}
    assert losses([*shares.values()], ["gpu-1"]) == {"red": 32, "blue": 32}


def test_a_lab_whose_nodes_have_no_gpus_owns_nodes(tmp_path: Path) -> None:
    cluster = changed(
        SMALL,
        tmp_path / "plain",
        ("accounts:", "  - {name: cpu-1, address: 10.90.3.1, roles: [compute], hardware: box}\naccounts:"),
        ("contributed_gpus: 10}", 'owns: "cpu-1"}'),
        ('nodes: "@compute"\n    max_time: 2d', 'nodes: "gpu-[1-2]"\n    max_time: 2d\n    allow_accounts: [blue]'),
        ('nodes: "@compute"\n    max_time: 4h', 'nodes: "cpu-1"\n    max_time: 4h'),
    )  # fmt: skip
    shares = {share.account: share for share in shares_of(cluster)}
    assert (shares["red"].unit, shares["red"].owned, shares["red"].whole, shares["red"].lab) == ("nodes", 1, True, True)
    assert losses([*shares.values()], ["cpu-1"]) == {"red": 1, "blue": 0}
    assert too_much(Bounds(1, 0), [*shares.values()], ["cpu-1"]) == {}
