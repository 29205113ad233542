"""Datasets reconciled on a small model of zfs, and values and tables in zfs' notation."""

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as some

from gpupool import wanted as nouns
from gpupool.facts.exports import Exports, entries
from gpupool.facts.script import END
from gpupool.facts.zfs import Pools
from gpupool.operations.zfs.datasets import work_on_datasets
from gpupool.operations.zfs.values import plain, size
from tests.operations.zfs_model import Dataset, Zfs

NAMES = ["tank", "tank/a", "tank/a/b", "tank/c", "tank/d"]
G = 2**30
properties = some.fixed_dictionaries(
    {},
    optional={
        "compression": some.sampled_from(["lz4", "off", "zstd"]),
        "atime": some.sampled_from(["on", "off"]),
        "recordsize": some.sampled_from(["131072", "1M"]),
        "quota": some.sampled_from(["10G", str(5 * G), "none"]),
        "refquota": some.sampled_from(["10G", "2G"]),
    },
)
quotas = some.dictionaries(some.sampled_from(["1", "2"]), some.sampled_from([0, G, 30 * G]))


@some.composite
def entries_wanted(draw: some.DrawFn) -> list[nouns.Dataset]:
    chosen = ["tank"]
    for name in NAMES[1:]:
        if name.rpartition("/")[0] in chosen and draw(some.booleans()):
            chosen.append(name)
    return [nouns.Dataset(name, f"/{name}", draw(properties), draw(quotas)) for name in chosen]


@some.composite
def machines(draw: some.DrawFn) -> Zfs:
    def dataset() -> Dataset:
        local = {name: plain(name, value) for name, value in draw(properties).items()}
        used = draw(some.sampled_from([0, G, 7 * G]))
        sizes = {name: str(max(int(local[name]), used)) for name in ("quota", "refquota") if int(local.get(name, 0))}
        uses = draw(some.dictionaries(some.sampled_from(["1", "2", "3"]), some.sampled_from([0, 5 * G])))
        return Dataset({**local, **sizes}, used, draw(some.booleans()), draw(quotas), uses)

    datasets = {"tank": dataset()}
    for name in NAMES[1:]:
        if name.rpartition("/")[0] in datasets and draw(some.booleans()):
            datasets[name] = dataset()
    return Zfs(datasets)


def carry_out(zfs: Zfs, wanted: list[nouns.Dataset]) -> None:
    work = work_on_datasets(wanted, zfs.state({dataset.name for dataset in wanted}))
    assert not work.obstacles
    assert bool(work.lines) == bool(work.changes)
    for line in work.lines:
        zfs.run(line)


@given(machines(), entries_wanted())
def test_a_second_run_has_nothing_to_do_and_loses_nothing(zfs: Zfs, wanted: list[nouns.Dataset]) -> None:
    before = deepcopy(zfs.datasets)
    carry_out(zfs, wanted)
    after = work_on_datasets(wanted, zfs.state({dataset.name for dataset in wanted}))
    assert (after.lines, after.changes) == ([], {})
    assert set(before) <= set(zfs.datasets), "a dataset went away"
    for name, dataset in zfs.datasets.items():
        for key in ("quota", "refquota"):
            assert not 0 < int(dataset.local.get(key, 0)) < dataset.used
        frozen = {uid for uid, quota in dataset.quotas.items() if 0 < quota < dataset.uses.get(uid, 0)}
        assert all(before[name].quotas.get(uid) == dataset.quotas[uid] for uid in frozen), "somebody was frozen by us"


@given(machines(), entries_wanted(), entries_wanted())
def test_removed_properties_leave_no_trace(zfs: Zfs, first: list[nouns.Dataset], second: list[nouns.Dataset]) -> None:
    names = {entry.name for entry in second}
    first = [entry for entry in first if entry.name in names]
    by_way, straight = deepcopy(zfs), zfs
    for dataset in (*by_way.datasets.values(), *straight.datasets.values()):
        for what in (dataset.local, dataset.quotas, dataset.uses):
            what.clear()
        dataset.used = 0
    carry_out(by_way, first)
    carry_out(by_way, second)
    carry_out(straight, second)
    shown, expected = by_way.state(names).datasets, straight.state(names).datasets
    for name in expected:
        assert {key: setting.value for key, setting in shown[name].items()} == {
            key: setting.value for key, setting in expected[name].items()
        }


def test_a_dataset_that_is_no_longer_wanted_is_kept_and_named_with_its_usage() -> None:
    zfs = Zfs({"tank": Dataset()})
    wanted = [nouns.Dataset(name, f"/{name}") for name in ("tank", "tank/a")]
    carry_out(zfs, wanted)
    zfs.datasets["tank/a"].used = 3 * G
    work = work_on_datasets(wanted[:1], zfs.state({"tank"}))
    assert (work.lines, list(work.stays)) == ([], ["tank/a"])
    assert "it is kept, with 3.0G in it" in work.stays["tank/a"]


@pytest.mark.parametrize("name", ["casesensitivity", "normalization", "utf8only", "encryption", "volblocksize"])
def test_properties_of_creation_are_not_changed_later(name: str) -> None:
    zfs = Zfs({"tank": Dataset({name: "off"})})
    wanted = [nouns.Dataset("tank", "/tank", {name: "on"})]
    work = work_on_datasets(wanted, zfs.state({"tank"}))
    assert not [line for line in work.lines if name in line and "gpupool:" not in line]
    assert f"tank {name}" in work.stays


@given(some.integers(0, 2**62))
def test_sizes_are_printed_in_a_form_that_can_be_written(count: int) -> None:
    printed = size(count)
    assert plain("quota", printed.removesuffix(" bytes")) == str(count)


@some.composite
def layouts(draw: some.DrawFn) -> list[tuple[str, list[str]]]:
    numbers = iter(range(1000))

    def disks(most: int, least: int = 1) -> list[str]:
        return [f"/dev/disk/by-id/d{next(numbers)}-part1" for _ in range(draw(some.integers(least, most)))]

    found: list[tuple[str, list[str]]] = []
    for _ in range(draw(some.integers(1, 3))):
        kind = draw(some.sampled_from(["mirror", "raidz1", "raidz2", "raidz3", "stripe"]))
        found.append((kind, disks(1) if kind == "stripe" else disks(4, 2)))
    for kind in ("special", "log", "cache", "spare"):
        if draw(some.booleans()):
            found.append((kind, disks(2) if kind in ("special", "log") else disks(1)))
    return found


def shown_by_zpool(name: str, layout: list[tuple[str, list[str]]]) -> list[str]:
    """Return the output of `zpool status -P` for a pool."""
    headings = {"special": "special", "log": "logs", "cache": "cache", "spare": "spares"}
    lines = [
        f"  pool: {name}",
        " state: ONLINE",
        "config:",
        "",
        "\tNAME   STATE READ WRITE CKSUM",
        f"\t{name} ONLINE 0 0 0",
    ]
    for number, (kind, disks) in enumerate(layout):
        if kind in headings:
            lines.append(f"\t{headings[kind]}")
        together = "mirror" if kind in headings and len(disks) > 1 else kind
        if together in ("mirror", "raidz1", "raidz2", "raidz3"):
            lines.append(f"\t  {together}-{number} ONLINE 0 0 0")
            lines += [f"\t    {disk} ONLINE 0 0 0" for disk in disks]
        else:
            lines += [f"\t  {disk} ONLINE 0 0 0" for disk in disks]
    return [*lines, "", "errors: No known data errors", ""]


@given(some.dictionaries(some.sampled_from(["tank", "pool: x", "b"]), layouts(), min_size=1))
def test_pools_are_read_from_zpools_output(pools: dict[str, list[tuple[str, list[str]]]]) -> None:
    lines = [f"G\t{name}\tsize\t1\t-" for name in pools]
    lines += [f"S\t{line}" for name, layout in pools.items() for line in shown_by_zpool(name, layout)]
    state = Pools().process([*lines, END])
    assert state
    assert {
        name: [(group.kind, list(group.disks)) for group in pool.groups] for name, pool in state.pools.items()
    } == pools
    assert all(pool.state == "ONLINE" for pool in state.pools.values())


word = some.text("abc019./-_:", min_size=1, max_size=8).filter(lambda text: not text.startswith("-"))
option = some.sampled_from(["rw", "ro", "root_squash", "crossmnt", "mountpoint=/x", "sec=sys"])


@given(word.map("/{}".format), some.dictionaries(word, some.frozensets(option), min_size=1))
def test_exports_are_read_as_they_are_written(path: str, clients: dict[str, frozenset[str]]) -> None:
    line = " ".join([path, *(f"{client}({','.join(sorted(options))})" for client, options in clients.items())])
    assert list(entries(line)) == [(path, client, options) for client, options in clients.items()]
    assert list(entries(f"# {line}")) == []
    state = Exports().process([f"A\t{line}", f"F\t/etc/exports\t{line}", END])
    assert state
    assert state.active == {path: clients}
    assert state.named == {"/etc/exports": {path: frozenset(clients)}}
