"""No code branches on the words of a message: failures and refusals have codes, changes are values.

The output of other programs (ssh, scontrol, docker, apt) is text: one module per program reads it, and is listed here.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import sources

ROOT = Path(__file__).parents[3]
FOLDERS = ("gpupool", "roles", "deploys")
#: The modules that read output or files of other programs, and the programs.
READERS: Mapping[str, str] = {
    "gpupool/cluster/checks/directory.py": "keys in PEM",
    "gpupool/cluster/checks/parameters.py": "our table of parameters",
    "gpupool/cluster/schema/labs.py": "keys in PEM",
    "gpupool/cluster/schema/repositories.py": "keys in PEM and in OpenPGP's armor",
    "gpupool/cluster/secret_text.py": "keys in PEM and in OpenPGP's armor",
    "gpupool/compile/programs.py": "imports of our own programs",
    "gpupool/engine/explain.py": "paramiko",
    "gpupool/engine/record.py": "pyinfra's log",
    "gpupool/programs/arbiter/decide.py": "the comment of a job, by the arbiter",
    "gpupool/programs/arbiter/guard.py": "the comment of a job, by the arbiter",
    "gpupool/programs/arbiter/limits.py": "scontrol show assoc_mgr",
    "gpupool/programs/gpus/answers.py": "nvidia-smi and the driver",
    "gpupool/rehearsal/judge.py": "scontrol show config, and slurmctld's log",
    "gpupool/rehearsal/promises/reclaim.py": "slurmstepd, in the output of jobs",
    "gpupool/rehearsal/promises/walls.py": "slurmstepd, in the output of jobs",
    "gpupool/remote/ssh_errors.py": "ssh",
    "gpupool/slurm/ping.py": "scontrol ping",
    "gpupool/slurm/silent.py": "Slurm's commands",
    "gpupool/testbed/docker.py": "docker",
    "gpupool/verify/test_slurm.py": "scontrol ping",
}
_WORDS = re.compile(r"[A-Za-z]{2,}[,:;]? [a-z(]*[A-Za-z]{2,}")
_METHODS = {"startswith", "endswith", "find", "index", "count", "partition", "rpartition"}
_PATTERNS = {"match", "fullmatch", "search", "findall", "finditer", "compile"}
_MEMBERSHIP = (ast.In, ast.NotIn, ast.Eq, ast.NotEq)


def modules() -> dict[str, ast.Module]:
    """Return the modules by their paths."""
    files = (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))
    return {str(path.relative_to(ROOT)): sources.tree(path) for path in files}


def test_no_code_branches_on_the_words_of_a_message() -> None:
    trees = modules()
    known = {f"{path.removesuffix('.py').replace('/', '.')}.{name}": text
             for path, tree in trees.items() for name, text in constants(tree).items()}  # fmt: skip
    codes = {text for tree in trees.values() for text in literals(tree)}
    found = {path: lines for path, tree in trees.items() if (lines := list(branches(tree, known, codes)))}
    assert {path: lines for path, lines in found.items() if path not in READERS} == {}
    assert set(READERS) <= {*found, "gpupool/slurm/silent.py"}, "a module that reads no text any more"


@pytest.mark.parametrize(
    "code",
    [
        'if "does not run" in why: pass',
        'if why not in ("it is off", "has ended"): pass',
        'LOST = "cannot be reached"\nif why.startswith(LOST): pass',
        'LOST = ("cannot be reached", "x")\nok = [why for why in reasons if why.startswith(LOST)]',
        'if why == "no answer in time": pass',
        'PATTERN = re.compile(r"link to (.*)")\nif PATTERN.match(why): pass',
        'if re.search("no answer", why): pass',
        'match why:\n    case "no answer": pass',
        "from gpupool.operations.driver import REBOOT\nif REBOOT in why: pass",
    ],
)
def test_a_branch_on_words_is_found(code: str) -> None:
    assert list(branches(ast.parse(code), {"gpupool.operations.driver.REBOOT": ("reboot the node without jobs",)}))


@pytest.mark.parametrize(
    "code",
    [
        "if change.kind is Kind.FILE: pass",
        'if reason.code == "needs-reboot": pass',
        'if "DRAIN" in state.flags: pass',
        'if stage.kind == "compute nodes": pass',
        'print("no answer" if late else "an answer")',
        'raise Refused("slurmdbd does not run")',
        'name = path.partition(" | ")[0]',
    ],
)
def test_codes_and_output_for_people_are_no_branches(code: str) -> None:
    assert not list(branches(ast.parse(code), codes={"compute nodes"}))


def branches(
    tree: ast.Module, known: Mapping[str, tuple[str, ...]] | None = None, codes: set[str] | None = None
) -> Iterator[str]:
    """Yield each place that compares with, or searches for, a text of two or more words.

    `known` are the constants of other modules. `codes` are values of a Literal: the types list them.
    """
    texts = constants(tree) | {
        alias.asname or alias.name: (known or {}).get(f"{node.module}.{alias.name}", ())
        for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }  # fmt: skip
    for node in ast.walk(tree):
        compared = [text for text in _compared(node, texts) if text not in (codes or ())]
        if any(_WORDS.search(text) for text in compared):
            yield f"{getattr(node, 'lineno', 0)}: {ast.unparse(node)[:100]}"


def constants(tree: ast.Module) -> dict[str, tuple[str, ...]]:
    """Return the texts of a module's constants by name; of a dict, its keys."""
    found: dict[str, tuple[str, ...]] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = tuple(_strings(node.value))
    return found


def literals(tree: ast.Module) -> Iterator[str]:
    """Yield the values of each Literal."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "Literal":
            yield from _strings(node.slice)


def _compared(node: ast.AST, texts: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], _MEMBERSHIP):
        for side in (node.left, *node.comparators):
            yield from _texts(side, texts)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        of_re = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
        if node.func.attr in (_PATTERNS if of_re else _METHODS):
            yield from _texts(node.args[0], texts)
        elif node.func.attr in _PATTERNS:
            yield from _texts(node.func.value, texts)
    elif isinstance(node, ast.MatchValue):
        yield from _texts(node.value, texts)


def _texts(node: ast.expr, texts: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield from texts.get(node.id, ())
    else:
        yield from _strings(node)


def _strings(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        yield from (text for part in node.elts for text in _strings(part))
    elif isinstance(node, ast.Dict):
        yield from (text for key in node.keys if key for text in _strings(key))
    elif isinstance(node, ast.BinOp):
        yield from (*_strings(node.left), *_strings(node.right))
    elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("re.compile", "frozenset", "set", "tuple"):
        yield from (text for part in node.args for text in _strings(part))
