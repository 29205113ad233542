"""Shell longer than three lines is in separate files, where tools can check it; its values are quoted."""

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import sources
from inventories import cluster_at

from gpupool.compile import files_for
from gpupool.shell import shell_file, values

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(ROOT.glob("gpupool/**/*.sh"))
#: The steps of CI in a site's repository; tests/unit/test_repository.py runs them.
OF_REPOSITORIES = ROOT / "gpupool" / "repository"
SHELLCHECK = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}") or ""
#: A line that begins with a common command, ends in "; do" or "; then", or contains a variable or command substitution.
SHELL = re.compile(r"^\s*(set|export|echo|printf|cat|rm|mkdir|mv|cp) |; (do|then)\b|\$[\w({@#*?]")


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and text of each string in a program except docstrings, with {} for values of an f-string."""
    nodes = sources.nodes(path)
    parts = {
        id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in ast.walk(node) if part is not node
    }
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if id(node) in parts | alone:
            continue
        if isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(str(piece.value) if isinstance(piece, ast.Constant) else "{}" for piece in node.values),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def is_long_shell(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return len(lines) > 3 and any(SHELL.search(line) for line in lines)


@pytest.mark.parametrize("folder", ["gpupool", "roles", "deploys"])
def test_no_shell_longer_than_three_lines_is_in_python(folder: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, text in texts(path)
        if is_long_shell(text)
    ]
    assert found == [], "move it to a .sh file beside the module, and read it with gpupool.shell.shell_file"


def test_long_shell_in_a_string_is_recognised() -> None:
    assert is_long_shell("umask 077\ncd /tmp\nls\nrm -f here\n")
    assert is_long_shell('\nn=0\nwait\n: > "$kept"\nwait\n')
    assert not is_long_shell("set -eu\ncd /tmp\nls\n")
    assert not is_long_shell("import sys\nfor line in sys.stdin:\n    if line:\n        print(line)\n")
    assert not is_long_shell("[Unit]\nDescription=a\n[Mount]\nWhat=b\nWhere=/c\n")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT / "gpupool")))
def test_each_script_begins_with_its_task_and_is_valid_shell(path: Path) -> None:
    shebang, head = path.read_text(encoding="utf-8").splitlines()[:2]
    assert shebang in ("#!/bin/sh", "#!/bin/bash")
    assert re.match(r"# [A-Z]", head)
    text = shell_file(".".join(path.parent.relative_to(ROOT).parts), path.name)
    done = subprocess.run([shebang[2:], "-n"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "path",
    [path for path in SCRIPTS if OF_REPOSITORIES not in path.parents],
    ids=lambda path: str(path.relative_to(ROOT / "gpupool")),
)
def test_each_script_is_sent_by_a_module(path: Path) -> None:
    beside = any(f'"{path.name}"' in module.read_text(encoding="utf-8") for module in path.parent.glob("*.py"))
    package = ".".join(path.parent.relative_to(ROOT).parts)
    sent = f'shell_file("{package}", "{path.name}")'  # of gpupool/node, which imports nothing of gpupool
    assert beside or any(sent in module.read_text(encoding="utf-8") for module in (ROOT / "gpupool").rglob("*.py"))


@pytest.mark.skipif(not SHELLCHECK, reason="shellcheck is missing: apt-get install shellcheck")
def test_shell_from_templates_is_valid(tmp_path: Path) -> None:
    for folder in sorted(path.parent for path in (ROOT / "inventory").glob("*/inventory.py")):
        cluster = cluster_at(folder)
        for node in cluster.nodes.values():
            for file in files_for(cluster, node):
                part = file.path.endswith(".sh") and not file.text.startswith("#!")
                text = f"#!/bin/sh\n{file.text}" if part else file.text
                if re.match(r"#!/bin/(ba)?sh\n", text):
                    (tmp_path / f"{folder.name}-{Path(file.path).name}").write_text(text)
    made = sorted(tmp_path.iterdir())
    assert {file.name.rpartition("-")[2] for file in made} >= {"sbash", "purge", "health", "spaces.sh"}
    # a user's own .bashrc does not exist here
    done = subprocess.run([SHELLCHECK, "-e", "SC2016,SC1090", *made], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_values_are_passed_to_a_script_unchanged() -> None:
    odd = 'it\'s $HOME `id`\n"two" lines'
    text = values(one=odd, two="") + 'printf "%s|" "$one" "$two"'
    assert subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True).stdout == f"{odd}||"


def test_the_head_comment_and_directives_of_shellcheck_are_not_sent() -> None:
    text = shell_file("gpupool.facts", "zfs_datasets.sh")
    assert text.startswith("if [ -z ")
    assert "shellcheck" not in text
