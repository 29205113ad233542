"""Roles put the files that `gpupool render` prints, all of them, and of what it cannot print the known hosts alone."""

import hashlib
from collections.abc import Callable

import empty_nodes
import pytest

from gpupool.cli.running import SITE
from gpupool.cluster.model import Cluster, Node
from gpupool.compile import FILES, files_for, files_of
from gpupool.engine.drive import run
from gpupool.engine.here import here
from gpupool.facts.host_keys import KNOWN
from gpupool.roles import (
    arbiter,
    base,
    compute,
    controller,
    database,
    fileserver,
    gpu,
    head,
    munge,
    people,
    slurm,
    spaces,
    ssh,
    storage,
    tools,
    usage,
)
from gpupool.target import Target
from gpupool.wanted import File

Apply = Callable[[Cluster, Node], None]

# the name that files carry as their role, for each role that a node may have by itself
ROLES: list[tuple[Apply, str, set[str]]] = [
    (base.apply, "login1", {"base"}),
    (ssh.apply, "login1", {"ssh"}),
    (people.apply, "login1", set()),
    (storage.serve, "files", {"storage"}),
    (storage.use, "a40-01", {"storage"}),
    (spaces.apply, "files", set()),
    (munge.make, "control", {"munge"}),
    (slurm.apply, "control", {"slurm"}),
    (database.apply, "control", {"database"}),
    (controller.apply, "control", {"controller"}),
    (arbiter.apply, "control", {"arbiter"}),
    (gpu.apply, "a40-01", {"gpu"}),
    (compute.apply, "a40-01", {"compute"}),
    (head.apply, "login1", {"head"}),
    (tools.apply, "login1", {"tools"}),
    (usage.apply, "files", {"usage"}),
]


def rendered(node: str) -> list[tuple[str, str, str, str]]:
    """What was put on a node without the host keys of all others, which only nodes know."""
    return sorted(it for it in empty_nodes.staged(node) if it[0] != KNOWN)


def as_staged(files: list[File]) -> list[tuple[str, str, str, str]]:
    return [(it.path, f"{it.owner}:{it.group}", it.mode, hashlib.sha256(it.text.encode()).hexdigest()) for it in files]


@pytest.mark.parametrize(
    "target", [empty_nodes.testbed("example"), empty_nodes.machines()], ids=["testbed", "machines"]
)
def test_a_node_gets_the_files_that_render_prints(target: Target) -> None:
    assert run(target.hosts, SITE, execute=True).ok
    for node in target.nodes:
        assert rendered(node.name) == sorted(as_staged(list(files_for(target.cluster, node))))


@pytest.mark.parametrize(
    "target", [empty_nodes.testbed("example"), empty_nodes.machines()], ids=["testbed", "machines"]
)
def test_the_next_apply_removes_nothing_of_what_this_one_put(target: Target) -> None:
    assert run(target.hosts, SITE, execute=True).ok
    for node in target.nodes:
        put = empty_nodes.recorded(node.name)
        assert {"/etc/hosts", "/etc/localtime", KNOWN} <= put <= set(base.paths(target.cluster, node))


@pytest.mark.parametrize(("role", "name", "names"), ROLES, ids=[f"{it[0].__module__}.{it[0].__name__}" for it in ROLES])
def test_a_role_puts_its_own_files(role: Apply, name: str, names: set[str]) -> None:
    target = empty_nodes.testbed("example")
    node = target.cluster.nodes[name]
    report = run(target.hosts, lambda: role(*here()), execute=True, limit=[name])
    assert report.ok, report.failures
    assert report.hosts[name].changes, "it has no work there: ask another node"
    own = [file for role_name in sorted(names) for file in files_of(target.cluster, node, role_name)]
    assert rendered(name) == sorted(as_staged(own))
    assert bool(own) == bool(names)


def test_a_fileserver_puts_its_own_files() -> None:
    target = empty_nodes.machines()

    def both() -> None:
        fileserver.disks(*here())
        fileserver.give(*here())

    report = run(target.hosts, both, execute=True, limit=["files"])
    assert report.ok, report.failures
    own = files_of(target.cluster, target.cluster.nodes["files"], "fileserver")
    assert own
    assert sorted(empty_nodes.staged("files")) == sorted(as_staged(own))


def test_every_file_belongs_to_a_role() -> None:
    known = set().union(*(names for _, _, names in ROLES))
    cluster = empty_nodes.testbed("example").cluster
    assert {role for role in FILES for node in cluster.nodes.values() if files_of(cluster, node, role)} == known


def test_every_role_is_tried_here() -> None:
    tried = {role.__module__.rpartition(".")[2] for role, _, _ in ROLES} | {"fileserver"}
    there = {path.stem for path in (SITE.parent.parent / "roles").glob("[a-z]*.py")}
    assert there - tried == {"accounts"}, "accounts puts no files: it is about slurmdbd"
