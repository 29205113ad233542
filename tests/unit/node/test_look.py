"""The look at a node: the script in a real shell, and its answer as data."""

import os
import subprocess
from pathlib import Path

import pytest
import stand_ins

from gpupool.node import look
from gpupool.node.look import Item, Kind, Look
from gpupool.shell import shell_file


def looked(folder: Path, *items: tuple[Kind, str], slurmd: str = "exit 0") -> Look:
    """Run the script on these items."""
    stand_ins.put({"systemctl": slurmd, "docker": '[ "$1" = info ] && exit 1'}, folder / "bin")
    command = ["sh", "-c", shell_file("gpupool.node", "look.sh"), "look", *look.arguments(5, items)]
    environment = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    seen = look.read(done.stdout)
    assert seen.clock
    assert seen.clock > 1_700_000_000
    return seen


def test_a_healthy_node_has_no_faults(tmp_path: Path) -> None:
    stand_ins.put({"gpus": "exit 0"}, tmp_path)
    items: list[tuple[Kind, str]] = [
        ("service", "slurmd"), ("gpus", f"{tmp_path}/gpus"), ("device", "/dev/null"), ("mount", "/proc"),
        ("program", "ls"), ("gpus", "/nonexistent"),
    ]  # fmt: skip
    seen = looked(tmp_path, *items)
    assert {(item.kind, item.item, item.fault, item.mounted) for item in seen.items} == {
        (kind, item, "", True) for kind, item in items[:-1]
    }


def test_each_fault_names_its_item(tmp_path: Path) -> None:
    stand_ins.put({"gpus": "echo gpupool: 1 of 8 a40 missing; exit 1", "silent": "exit 3"}, tmp_path)
    seen = looked(
        tmp_path, ("service", "slurmd"), ("gpus", f"{tmp_path}/gpus"), ("gpus", f"{tmp_path}/silent"),
        ("device", "/dev/none-1"), ("mount", "/nonexistent"), ("mount", str(tmp_path)), ("program", "docker"),
        slurmd="exit 3",
    )  # fmt: skip
    assert set(seen.items) == {
        Item("service", "slurmd", "does not run"),
        Item("gpus", f"{tmp_path}/gpus", "1 of 8 a40 missing"),
        Item("gpus", f"{tmp_path}/silent", "exit code 3"),
        Item("device", "/dev/none-1", "missing"),
        Item("mount", "/nonexistent", "No such file or directory", mounted=False),
        Item("mount", str(tmp_path), "", mounted=False),
        Item("program", "docker", "info fails"),
    }


def test_any_text_is_one_line_of_json(tmp_path: Path) -> None:
    stand_ins.put({"gpus": "printf 'a \"b\"\\\\ c\\n\\td\\033'; exit 1"}, tmp_path)
    (item,) = looked(tmp_path, ("gpus", f"{tmp_path}/gpus")).items
    assert item.fault == 'a "b"\\ c  d\x1b'


def test_a_mount_that_does_not_answer_is_abandoned(tmp_path: Path) -> None:
    stand_ins.put({"stat": f"exec {sleep()} infinity"}, tmp_path / "bin")
    command = ["sh", "-c", shell_file("gpupool.node", "look.sh"), "look", *look.arguments(1, [("mount", "/proc")])]
    environment = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert look.read(done.stdout).items == (Item("mount", "/proc", "no answer in 1 s"),)


def sleep() -> str:
    return subprocess.run(["sh", "-c", "command -v sleep"], capture_output=True, text=True, check=True).stdout.strip()


def test_items_of_a_kind_are_sorted_by_name() -> None:
    seen = look.read('{"clock": 1.5}\n{"kind": "mount", "item": "/b", "fault": "", "mounted": true}\n'
                     '{"kind": "mount", "item": "/a", "fault": "x", "mounted": false}\n')  # fmt: skip
    assert seen.clock == 1.5
    assert seen.of("mount") == (Item("mount", "/a", "x", mounted=False), Item("mount", "/b"))
    assert seen.of("device") == ()
    with pytest.raises(ValueError, match="Expecting"):
        look.read("not JSON\n")
