"""Each role decides where it applies, and the deploy only has their order."""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from gpupool.cluster.load import load
from gpupool.compile import FILES, files_of
from gpupool.roles import everywhere

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.stem for path in (ROOT / "roles").glob("[!_]*.py"))
ROLES = {name: import_module(f"gpupool.roles.{name}") for name in NAMES}
SITE = ast.parse((ROOT / "deploys" / "site.py").read_text(encoding="utf-8"))
CLUSTERS = [load(path.parent) for path in sorted((ROOT / "inventory").glob("*/inventory.py"))]
#: Steps of the deploy, by role.
STEPS = [
    (call.func.value.id, call.func.attr)
    for call in ast.walk(SITE)
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name)
]


def guarded(step: Any) -> bool:
    return hasattr(step, "__wrapped__")


def test_every_role_is_in_the_deploy() -> None:
    assert {role for role, _ in STEPS if role in ROLES} == set(ROLES)


@pytest.mark.parametrize("name", NAMES)
def test_a_step_for_some_nodes_has_a_condition(name: str) -> None:
    steps = {step: getattr(ROLES[name], step) for role, step in STEPS if role == name}
    if ROLES[name].applies is not everywhere:
        assert [step for step, function in steps.items() if not guarded(function) and not is_question(function)] == []


def is_question(function: Any) -> bool:
    return function.__annotations__["return"] is bool


@pytest.mark.parametrize("name", [name for name in NAMES if name in FILES])
def test_a_role_applies_wherever_it_has_files(name: str) -> None:
    role = ROLES[name]
    for cluster in CLUSTERS:
        missed = [
            node.name
            for node in cluster.nodes.values()
            if not role.applies(cluster, node) and files_of(cluster, node, name)
        ]
        assert missed == [], cluster.name


def test_the_deploy_takes_its_conditions_from_roles() -> None:
    imported = {node.module for node in ast.walk(SITE) if isinstance(node, ast.ImportFrom)}
    assert imported == {"gpupool.engine.current", "gpupool.operations.together", "gpupool.roles"}
    names = [alias.asname for node in ast.walk(SITE) if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert [name for name in names if name] == []
