"""Files that can be read as an inventory: regular files up to a limit; all others are refused with one line."""

import os
from collections.abc import Callable
from pathlib import Path

import inventories
import pytest

from gpupool.cluster import text
from gpupool.cluster.load import examine
from gpupool.rehearsal.scenarios.read import scenarios

SMALL = (inventories.SMALL / "inventory.yml").read_text()


@pytest.fixture
def complaints(tmp_path: Path) -> Callable[[str | bytes], list[str]]:
    """Return a function that returns the complaints about a text, as lines without the folder."""

    def run(text: str | bytes) -> list[str]:
        (tmp_path / "x.yml").write_bytes(text if isinstance(text, bytes) else text.encode())
        return [str(complaint).removeprefix(f"{tmp_path}/") for complaint in examine(tmp_path).open]

    return run


def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.yml")
    (tmp_path / "b.yml").symlink_to("/dev/zero")
    lines = [str(complaint).removeprefix(f"{tmp_path}/") for complaint in examine(tmp_path).open]
    assert lines == [f"{name}.yml:1: error: cannot be read: a device or a pipe, not a file" for name in "ab"]
    assert len(examine(tmp_path / "a.yml").errors) == 1


def test_hidden_files_belong_to_other_programs(tmp_path: Path) -> None:
    """CI's file and the lock of an editor may be beside the inventory's own."""
    (tmp_path / "inventory.yml").write_text(SMALL)
    for name in (".gitlab-ci.yml", ".pre-commit-config.yaml", "rehearsal/.other.yml", "labs/.other.yml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("stages: [check]\n")
    (tmp_path / ".#inventory.yml").symlink_to("ann@laptop.4711")
    assert [file.name for file in text.files_of(tmp_path)] == ["inventory.yml"]
    assert examine(tmp_path).open == examine(inventories.SMALL).open == []
    assert scenarios(tmp_path, None) == []


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "x.yml").open("wb") as file:
        file.truncate(1 << 40)  # a sparse file: no block of it is on the disk
    assert "too large: the maximum is 20 MB" in str(examine(tmp_path).open[0])


@pytest.mark.parametrize("item", ["[ #]\n", '["]",', "{ #}\n", "[ ']',"])
def test_brackets_inside_text_do_not_hide_the_depth(item: str, complaints: Callable[[str], list[str]]) -> None:
    assert "nested too deeply" in complaints("x: " + item * 100_000)[0]


@pytest.mark.parametrize("line", ["# " + "[" * 100, "# " + "{[" * 100])
def test_brackets_in_comments_are_not_counted(line: str, complaints: Callable[[str], list[str]]) -> None:
    assert complaints(f"{line}\n{SMALL}") == []


def test_brackets_in_strings_are_not_counted(complaints: Callable[[str], list[str]]) -> None:
    assert complaints(SMALL.replace("domain:", f"guide: '{'[' * 100}', domain:")) == []


def test_depth_is_counted_over_blocks_and_brackets(complaints: Callable[[str], list[str]]) -> None:
    deep = "".join(f"{' ' * n}k{n}:\n" for n in range(30)) + " " * 30 + "[" * 30 + "]" * 30
    assert complaints(deep)[0].startswith("x.yml:31: error: nested too deeply")


def test_too_many_keys_are_refused_before_they_are_kept(
    complaints: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "_MOST", 1000)
    (line,) = complaints("".join(f"k{n}: 1\n" for n in range(1001)))
    assert line.endswith("too long (the maximum is 1000 keys and items)")


@pytest.mark.parametrize(
    ("value", "tag"),
    [
        ("!!python/object/apply:os.system [id]", "!!python/object/apply:os.system"),
        ("!!str 1", "!!str"),
        ("!secret x", "!secret"),
    ],
)
def test_an_unknown_tag_is_refused(value: str, tag: str, complaints: Callable[[str], list[str]]) -> None:
    assert complaints(f"{SMALL}examples: {value}\n") == [
        f"x.yml:{len(SMALL.splitlines()) + 1}: error: {tag} is a YAML tag, which inventories do not use (remove it)"
    ]


SIGNS = {"line feed": "\\n", "escape": "\\e[2J", "delete": "\\x7f", "paragraph": "\\u2029", "right to left": "\\u202e"}


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("place", ["key", "value", "name", "selector"])
def test_a_complaint_is_one_printable_line(sign: str, place: str, complaints: Callable[[str], list[str]]) -> None:
    word = f'"a{SIGNS[sign]}b"'
    texts = {
        "key": f"{SMALL}{word}: 1\n",
        "value": SMALL.replace("gpu_slots: 8", f"gpu_slots: {word}"),
        "name": SMALL.replace("account: red", f"account: {word}"),
        "selector": SMALL.replace('nodes: "@compute"', f"nodes: {word}"),
    }
    lines = complaints(texts[place])
    assert lines
    assert all(line.isprintable() for line in lines)


def test_a_file_name_does_not_break_the_line(tmp_path: Path) -> None:
    (tmp_path / "a\nb\x1b.yml").write_text("x: 1\n")
    (tmp_path / os.fsdecode(b"c\xff.yml")).write_text("y: 1\n")
    lines = [str(complaint) for complaint in examine(tmp_path).open]
    assert lines
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("old", ["gpu_slots: 8", "account: red", 'nodes: "@compute"', "max_time: 2d", "512G", "head,"])
def test_a_long_value_is_shortened(old: str, complaints: Callable[[str], list[str]]) -> None:
    key, colon, _ = old.rpartition(" ")
    long = f'{key}{colon}"{"y" * 70_000}"' + ("," if old.endswith(",") else "")
    lines = complaints(SMALL.replace(old, long))
    assert lines
    assert max(map(len, lines)) < 1000


def test_a_long_key_is_shortened(complaints: Callable[[str], list[str]]) -> None:
    (line,) = complaints(f"{SMALL}? {'k' * 70_000}\n: 1\n")
    assert len(line) < 300


NUMBERS = {
    "size": ("memory: 512G", "memory: 9{}G"),
    "duration": ("max_time: 2d", "max_time: 9{}w"),
    "clock": ("max_time: 2d", 'max_time: "9{}:00"'),
    "number": ("gpu_slots: 8", "gpu_slots: 9{}"),
    "day": ("account: red}", "account: red, grants: [{{qos: normal, until: 9{}}}]}}"),
    "range": ("gpu-[1-2]", "gpu-[1-9{}]"),
    "time zone": ("domain:", "timezone: A9{}, domain:"),
}


@pytest.mark.parametrize("digits", [20, 400, 5000])
@pytest.mark.parametrize("kind", NUMBERS)
def test_no_number_is_too_long_for_a_complaint(kind: str, digits: int, complaints: Callable[[str], list[str]]) -> None:
    old, new = NUMBERS[kind]
    lines = complaints(SMALL.replace(old, new.format("9" * digits)))
    assert lines
    assert all("set_int_max_str_digits" not in line and len(line) < 1000 for line in lines)


@pytest.mark.parametrize("day", ["2030-02-30", "20300131", "2030-1-31", "99999999", '"2030-01-31 "', "tomorrow"])
def test_a_day_has_one_form(day: str, complaints: Callable[[str], list[str]]) -> None:
    (line,) = complaints(SMALL.replace("account: red}", f"account: red, grants: [{{qos: normal, until: {day}}}]}}"))
    assert line.endswith("is not a date; write 2030-01-31")


MERGED = SMALL.replace("  - name: all\n", "  - &base\n    name: all\n").replace(
    '  - name: red\n    nodes: "@compute"\n', "  - <<: *base\n    name: red\n"
)


def test_a_merge_key_supplies_the_missing_values(tmp_path: Path) -> None:
    assert MERGED.count("<<") == 1
    (tmp_path / "x.yml").write_text(MERGED)
    cluster = examine(tmp_path).cluster
    assert cluster is not None
    red, every = cluster.partitions["red"], cluster.partitions["all"]
    assert (red.nodes, red.entry.max_time, red.entry.tier) == (every.nodes, 4 * 3600, 10)


def test_a_complaint_about_merged_values_has_the_line_of_the_original_and_names_all_places(
    complaints: Callable[[str], list[str]],
) -> None:
    (line,) = complaints(MERGED.replace('nodes: "@compute"', 'nodes: "@computer"', 1))
    assert line.startswith("x.yml:20: error: partitions[0].nodes: '@computer'")
    assert "; also in partitions[1]" in line


@pytest.mark.parametrize("value", ["3", "[3]", "[{tier: 1}, x]"])
def test_a_merge_key_takes_mappings_only(value: str, complaints: Callable[[str], list[str]]) -> None:
    (line,) = complaints(SMALL.replace("  - name: red\n", f"  - <<: {value}\n    name: red\n"))
    assert "<< takes a mapping (*name), or a list of them" in line


def test_recursive_merges_end(complaints: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_MOST", 1000)
    keys = ", ".join(f"k{n}: 1" for n in range(20))
    assert "expands too far" in complaints(f"a: &a {{{keys}}}\nb: {{<<: [{', '.join(['*a'] * 100)}]}}\n")[0]
    assert "refers to itself" in complaints("a: &a {<<: *a}\n")[0]


def test_an_invalid_name_is_refused_with_the_allowed_characters(complaints: Callable[[str], list[str]]) -> None:
    (line,) = complaints(SMALL.replace("name: ann", "name: 'a:b'"))
    assert "'a:b': a name has letters, digits and _ . @ -, and no ':'" in line


def test_an_unknown_key_is_refused_with_the_known_keys(complaints: Callable[[str], list[str]]) -> None:
    (line,) = complaints(SMALL.replace("max_time: 2d", "max_time: 2d\n    limits: {per_group: {gpu: 2}}"))
    assert "unknown key (limits has group, group_minutes, per_user, per_user_minutes, per_account, per_job" in line
