"""Roles put all the files that `gpupool render` prints; known hosts are the only other file."""

import hashlib
import sys
from collections.abc import Callable, Iterable
from typing import Any

import empty_nodes
import pytest
from origin import ORIGIN

from gpupool.compile import FILES, files_for, files_of
from gpupool.engine.current import cluster_and_node
from gpupool.engine.drive import run
from gpupool.facts.host_keys import KNOWN
from gpupool.operations import files, mounts
from gpupool.roles import base
from gpupool.run.runner import SITE
from gpupool.target import Target
from gpupool.wanted import File


def rendered(node: str) -> list[tuple[str, str, str, str]]:
    """Return the files put on a node, each once, without the host keys of other nodes, which only nodes know."""
    return sorted({staged for staged in empty_nodes.staged(node) if staged[0] != KNOWN})


def as_staged(put: list[File]) -> list[tuple[str, str, str, str]]:
    return [
        (file.path, f"{file.owner}:{file.group}", file.mode, hashlib.sha256(file.text.encode()).hexdigest())
        for file in put
    ]


@pytest.mark.parametrize(
    "target", [empty_nodes.testbed("example"), empty_nodes.machines()], ids=["testbed", "machines"]
)
def test_a_node_gets_the_files_that_render_prints(target: Target) -> None:
    assert run(target.hosts, SITE, execute=True, origin=ORIGIN).ok
    for node in target.nodes:
        assert rendered(node.name) == sorted(as_staged(list(files_for(target.cluster, node))))


@pytest.mark.parametrize(
    "target", [empty_nodes.testbed("example"), empty_nodes.machines()], ids=["testbed", "machines"]
)
def test_the_next_apply_removes_no_file_of_the_former(target: Target) -> None:
    assert run(target.hosts, SITE, execute=True, origin=ORIGIN).ok
    for node in target.nodes:
        put = empty_nodes.recorded(node.name)
        assert {"/etc/hosts", "/etc/localtime", KNOWN} <= put <= set(base.paths(target.cluster, node))


@pytest.mark.parametrize(
    "target", [empty_nodes.testbed("example"), empty_nodes.machines()], ids=["testbed", "machines"]
)
def test_a_role_installs_its_own_files_and_no_others(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    put: dict[tuple[str, str], set[str]] = {}

    def noting(operation: Any, paths: Callable[..., Iterable[str]]) -> Any:
        def noted(**arguments: Any) -> Any:
            role = sys._getframe(1).f_globals["__name__"].rpartition(".")[2]
            put.setdefault((cluster_and_node()[1].name, role), set()).update(paths(**arguments))
            return operation(**arguments)

        return noted

    monkeypatch.setattr(files, "put", noting(files.put, lambda files=(), **_: [file.path for file in files]))
    units = noting(mounts.mounted, lambda mounts=(), **_: [unit.path for mount in mounts for unit in mount.units])
    monkeypatch.setattr(mounts, "mounted", units)
    assert run(target.hosts, SITE, execute=False, origin=None).ok
    wanted = {
        (node.name, role): {file.path for file in files_of(target.cluster, node, role)}
        for node in target.nodes
        for role in FILES
    }
    assert {key: paths for key, paths in put.items() if paths} == {key: paths for key, paths in wanted.items() if paths}
