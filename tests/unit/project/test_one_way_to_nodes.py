"""Nodes are reached in one way: only one module, and the engine, start OpenSSH's client."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from sources import nodes

PACKAGE = Path(__file__).parents[3] / "gpupool"
CLIENTS = {"ssh", "ssh-keyscan", "scp", "sftp", "sshpass", "rsync"}
#: A testbed creates its own nodes, and programs run on nodes.
ASIDE = {"testbed", "programs", "engine"}


def started(inside: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the programs with which command lines in a module begin."""
    for node in inside:
        words = node.elts if isinstance(node, ast.List | ast.Tuple) else node.args if isinstance(node, ast.Call) else []
        # `manages("ssh")` asks for a role
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "manages":
            continue
        first = words[0] if words else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str) and first.value:
            yield first.value.split()[0] if first.value.split() else ""


def starts_ssh(text: str) -> bool:
    return bool(CLIENTS & set(started(ast.walk(ast.parse(text)))))


def test_only_one_module_starts_ssh() -> None:
    modules = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in ASIDE]
    assert [str(path.relative_to(PACKAGE)) for path in modules if CLIENTS & set(started(nodes(path)))] == [
        "remote/nodes.py"
    ]


def test_each_form_of_a_command_line_is_found() -> None:
    assert starts_ssh("subprocess.run(['ssh', node])")
    assert starts_ssh("command = ('ssh-keyscan', *words)")
    assert starts_ssh("os.system('ssh node true')")
    assert not starts_ssh("node.manages('ssh')")
    assert not starts_ssh("subprocess.run(['ssh-keygen', '-F', name])")
