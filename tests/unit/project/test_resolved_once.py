"""A value that the inventory resolves is read from the Cluster, and never from its raw entry."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import sources

ROOT = Path(__file__).parents[3]
GPUPOOL = ROOT / "gpupool"
CLUSTER = GPUPOOL / "cluster"
LINKS = {path for path in GPUPOOL.iterdir() if path.is_symlink()}
MODULES = sorted(
    path
    for folder in (GPUPOOL, ROOT / "roles", ROOT / "deploys")
    for path in folder.rglob("*.py")
    if not {CLUSTER, *LINKS} & {*path.parents}
)
#: Values of a partition, a mount, an account or a user whose form in the Cluster differs from the entry.
RESOLVED = {
    *("nodes", "default_time", "preemptable", "preempt_action", "grace", "allow_accounts", "allow_lab_accounts"),
    *("deny_accounts", "limits", "without_gpu", "parent", "exact", "owns", "contributed_gpus"),
    *("at", "mount_on", "server", "path", "dataset", "made_on", "mounted_by", "mount_point", "enabled"),
}
#: Keys of sections with another form in the Cluster.
SECTIONS = {
    *(("storage", key) for key in ("exports", "links", "links_on", "mount_on", "mount_root")),
    *(("scheduler", "default_time"), ("testbed", "nodes")),
}


def raw(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each resolved value that is read from the raw entry: `partition.entry.limits`."""
    for node in nodes:
        match node:
            case ast.Attribute(attr=name, value=ast.Attribute(attr="entry")) if name in RESOLVED:
                yield node.lineno, name
            case ast.Attribute(attr=name, value=ast.Attribute(attr=section, value=ast.Name(id="cluster"))):
                if (section, name) in SECTIONS:
                    yield node.lineno, name


def seen(text: str) -> list[tuple[int, str]]:
    return list(raw(ast.walk(ast.parse(text))))


def test_a_raw_value_of_an_entry_is_found() -> None:
    assert (seen("a = partition.entry.limits.group")) == [(1, "limits")]
    assert (seen("a = cluster.storage.exports")) == [(1, "exports")]
    assert (seen("a = partition.entry.tier, partition.limits, cluster.mounts, cluster.storage.home")) == []


def test_no_module_reads_the_raw_form_of_a_resolved_value() -> None:
    assert MODULES
    assert [
        f"{module.relative_to(ROOT)}:{line}: {name}" for module in MODULES for line, name in raw(sources.nodes(module))
    ] == []
