"""A change merged into an inventory: its values apply, all others stay, its mistakes are reported with its lines."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gpupool.cluster.change import merge
from gpupool.cluster.load import examine, load
from gpupool.cluster.text import Text, read
from gpupool.compile import files_for
from gpupool.compile.slurm.accounting import entities
from gpupool.rehearsal.scenarios.promises import promises

ROOT = Path(__file__).parents[3]
SKYNET = ROOT / "inventory" / "skynet"


@pytest.fixture
def skynet_with(tmp_path: Path) -> Callable[[str], Any]:
    """Return a function that returns SkyNet with a change, like `examine`; the change has the lines of change.yml."""

    def run(change: str) -> Any:
        (tmp_path / "change.yml").write_text(change)
        return examine(SKYNET, tmp_path / "change.yml")

    return run


def _complaints(loaded: Any) -> list[str]:
    return [re.sub(r"[^ ]*/", "", str(error)) for error in loaded.errors]


def test_a_new_lab_on_a_new_node() -> None:
    before, after = load(SKYNET), load(SKYNET, ROOT / "docs" / "what-if.yml")
    assert after.total_gpus == before.total_gpus + 8
    assert set(after.accounts) - set(before.accounts) == {"new-lab"}
    assert set(after.partitions) - set(before.partitions) == {"new-lab"}
    assert set(after.nodes) - set(before.nodes) == {"a40-05"}
    assert after.accounts["new-lab"].limits.group.gpu == 8


def test_a_different_cap_keeps_the_rest_of_the_lab(skynet_with: Callable[[str], Any]) -> None:
    loaded = skynet_with("accounts:\n- {name: wu-lab, contributed_gpus: 2}\n- {name: tail-lab, contributed_gpus: 10}\n")
    assert not loaded.errors
    before, after = load(SKYNET).accounts, loaded.cluster.accounts
    assert (after["wu-lab"].limits.group.gpu, after["tail-lab"].limits.group.gpu) == (2, 10)
    limits = before["wu-lab"].limits
    cap = limits.group.model_copy(update={"gpu": 2})
    assert after["wu-lab"].limits.group.gpu == cap.gpu
    entry = before["wu-lab"].entry.model_copy(update={"contributed_gpus": 2})
    assert replace(after["wu-lab"], limits=limits) == replace(before["wu-lab"], entry=entry)
    assert {name: account for name, account in after.items() if name not in ("wu-lab", "tail-lab")} == {
        name: account for name, account in before.items() if name not in ("wu-lab", "tail-lab")
    }


def test_removed_entries_are_absent(skynet_with: Callable[[str], Any]) -> None:
    loaded = skynet_with("partitions: [{name: user-overcap, remove: true}]\npreemption: {arbiter: {remove: true}}\n")
    assert not loaded.errors
    assert "user-overcap" not in loaded.cluster.partitions
    assert loaded.cluster.preemption.arbiter is None
    assert "overcap" in loaded.cluster.partitions


def test_a_row_of_nodes_is_found_by_its_written_name(skynet_with: Callable[[str], Any]) -> None:
    loaded = skynet_with("nodes: [{name: 'a40-[01-04]', features: [new]}]\n")
    assert not loaded.errors
    assert [name for name, node in loaded.cluster.nodes.items() if "new" in node.features] == [
        *("a40-01", "a40-02", "a40-03", "a40-04")
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            "accounts:\n- {name: wu-lab, contributed_gpu: 8}\n",
            "change.yml:2: error: accounts[12].contributed_gpu: unknown key (did you mean contributed_gpus?)",
        ),
        (
            "acounts: []\n",
            "change.yml:1: error: acounts: unknown key (did you mean accounts?)",
        ),
        (
            "qos:\n  debug: {remove: false}\n",
            "change.yml:2: error: qos.debug.remove: unknown key",
        ),
        (
            "accounts:\n- {name: tail-lb, remove: true}\n",
            "change.yml:2: error: accounts[0]: there is no tail-lb to remove (did you mean tail-lab?)",
        ),
        (
            "qos:\n  debig: {remove: true}\n",
            "change.yml:2: error: qos.debig: there is no debig to remove (did you mean debug?)",
        ),
        (
            "nodes:\n- {name: a40-03, remove: true}\n",
            "change.yml:2: error: nodes[0]: there is no a40-03 to remove "
            "(it is part of the range a40-[01-04]; name the whole range)",
        ),
        (
            "partitions:\n- {name: user-overcap, remove: true, tier: 3}\n",
            "change.yml:2: error: partitions[0]: user-overcap has `remove: true` and also tier (keep one or the other)",
        ),
        (
            "accounts:\n- {kind: lab}\n",
            "change.yml:2: error: accounts[0]: an entry of a change needs a name, and this one has none",
        ),
        (
            "gpu_types: {h100: {models: [H100], memory: {remove: true}}}\n",
            "change.yml:1: error: gpu_types.h100.memory: there is no memory to remove",
        ),
        ("nodes: 3\n", "change.yml:1: error: nodes: must be a list, not 3 (write [item], or one `- ` line per item)"),
        ("\tnodes: 3\n", "change.yml:1: error: tab in the indentation (YAML needs spaces)"),
    ],
)
def test_mistakes_are_reported_at_the_lines_of_the_change(
    change: str, message: str, skynet_with: Callable[[str], Any]
) -> None:
    loaded = skynet_with(change)
    assert loaded.cluster is None
    assert any(line.startswith(message) for line in _complaints(loaded))


def test_two_changes_of_one_entry_are_refused(skynet_with: Callable[[str], Any]) -> None:
    loaded = skynet_with("accounts:\n- {name: wu-lab, fairshare: 1}\n- {name: wu-lab, fairshare: 2}\n")
    (complaint,) = _complaints(loaded)
    assert complaint == "change.yml:3: error: accounts[1]: wu-lab is defined twice; first at change.yml:2 (keep one)"


def test_a_missing_change_is_an_error(gpupool: Callable[..., Any], tmp_path: Path) -> None:
    done = gpupool("check", SKYNET, "--with", tmp_path / "none.yml")
    assert done.code == 2
    assert f"{tmp_path}/none.yml:1: error: cannot be read: No such file or directory" in done.out


def test_check_counts_the_changed_cluster(gpupool: Callable[..., Any]) -> None:
    done = gpupool("check", SKYNET, "--with", ROOT / "docs" / "what-if.yml")
    assert done.code == 0
    assert done.out.splitlines()[-1].startswith("skynet: 53 nodes, 37 of them compute: 292 GPUs, 2184 CPUs; 15 labs")


def test_an_empty_change_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.yml").write_text("# nothing yet\n")
    before, after = load(SKYNET), load(SKYNET, tmp_path / "empty.yml")
    assert entities(after) == entities(before)
    for name, node in before.nodes.items():
        assert files_for(after, after.nodes[name]) == files_for(before, node)
    old = read(SKYNET)
    new = merge(old, tmp_path / "empty.yml")
    assert (new.data, new.places, new.located) == (old.data, old.places, old.located)


# Laws, on any data of such a shape

_words = st.sampled_from(["a", "b", "c", "name"])
_plain = st.one_of(st.integers(0, 3), st.sampled_from(["x", "y"]), st.none())
_data = st.recursive(
    _plain,
    lambda below: st.one_of(
        st.dictionaries(_words, below, max_size=3),
        st.lists(below, max_size=2),
        st.lists(
            st.builds(
                lambda name, rest: {**rest, "name": name}, st.sampled_from("pqr"), st.dictionaries(_words, below)
            ),
            max_size=3,
            unique_by=lambda entry: entry["name"],
        ),
    ),
    max_leaves=8,
)
_files = st.dictionaries(_words, _data, max_size=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("change")


def _text(folder: Path, name: str, data: dict[str, Any]) -> Path:
    (folder / name).write_text(yaml.safe_dump(data))
    return folder / name


@given(_files, _files)
def test_a_change_applied_twice_has_the_effect_of_one(folder: Path, old: dict[str, Any], new: dict[str, Any]) -> None:
    change = _text(folder, "new.yml", new)
    once = merge(read(_text(folder, "old.yml", old)), change)
    if not once.located:
        twice = merge(once, change)
        assert (twice.data, twice.places, twice.located) == (once.data, once.places, [])


@given(_files, _files)
def test_every_line_of_the_result_comes_from_one_of_the_two_files(
    folder: Path, old: dict[str, Any], new: dict[str, Any]
) -> None:
    change = _text(folder, "new.yml", new)
    laid = merge(read(_text(folder, "old.yml", old)), change)
    assert set(laid.places) == set(_paths(laid.data))
    assert {key for key, place in laid.places.items() if place.file == str(change) and len(key) == 1} == {
        (key,) for key in new
    }


@given(_files)
def test_a_change_of_an_empty_inventory_is_the_change(folder: Path, new: dict[str, Any]) -> None:
    change = _text(folder, "new.yml", new)
    laid = merge(Text(), change)
    alone = read(change)
    if laid.located:
        assert all(
            "needs a name" in str(complaint) or "is defined twice" in str(complaint) for complaint in laid.located
        )
    else:
        assert (laid.data, laid.places) == (alone.data, alone.places)


def _paths(data: Any, at: tuple[str | int, ...] = ()) -> Any:
    for step, below in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield (*at, step)
        yield from _paths(below, (*at, step))


# The page about it


def _blocks() -> list[str]:
    return re.findall(r"^```yaml\n(.*?)^```", (ROOT / "docs" / "rehearsal.md").read_text(), re.MULTILINE | re.DOTALL)


def test_the_changes_in_the_docs_can_be_applied(skynet_with: Callable[[str], Any]) -> None:
    changes = [block for block in _blocks() if not block.startswith("name:")]
    assert len(changes) == 2
    for change in changes:
        assert _complaints(skynet_with(change)) == []
    assert yaml.safe_load(changes[0]) == read(ROOT / "docs" / "what-if.yml").data


def test_the_promise_in_the_docs_can_be_read(tmp_path: Path) -> None:
    (own,) = (block for block in _blocks() if block.startswith("name:"))
    (tmp_path / "rehearsal").mkdir()
    (tmp_path / "rehearsal" / "own.yml").write_text(own)
    assert [promise.key for promise in promises(tmp_path, load(ROOT / "inventory" / "example"))] == ["two-quick-ones"]
