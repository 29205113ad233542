"""A repository is only on the nodes where something uses it."""

from pathlib import Path

import inventories
from inventories import cluster_at

from gpupool.compile import files_of
from gpupool.testbed.overlay import stand_in

SKYNET = cluster_at(inventories.INVENTORY / "skynet")


def texts(node: str) -> dict[str, str]:
    return {file.path: file.text for file in files_of(SKYNET, SKYNET.nodes[node], "repositories")}


def test_a_node_whose_driver_comes_from_it_has_the_repository_with_its_key() -> None:
    files = texts("a40-01")
    key = "/etc/apt/keyrings/gpupool-site.asc"
    assert list(files) == [key, "/etc/apt/sources.list.d/gpupool-site.sources"]
    assert files[key] == SKYNET.software.repositories["site"].key
    assert files["/etc/apt/sources.list.d/gpupool-site.sources"].splitlines()[1:] == [
        "Types: deb",
        "URIs: https://packages.example.org/debian",
        "Suites: trixie",
        "Components: main",
        f"Signed-By: {key}",
    ]


def test_a_node_that_uses_no_repository_has_none() -> None:
    assert texts("sky1") == {}


def test_a_testbed_has_no_driver_and_no_repository_for_it() -> None:
    cluster = stand_in(SKYNET, cgroup="v2")
    assert [file for node in cluster.nodes.values() for file in files_of(cluster, node, "repositories")] == []


def test_a_repository_without_components_has_a_directory(tmp_path: Path) -> None:
    replaced = ("suite: trixie\n      components: [main]", "suite: ./")
    cluster = inventories.changed(inventories.INVENTORY / "skynet", tmp_path, replaced)
    source = files_of(cluster, cluster.nodes["a40-01"], "repositories")[1].text
    assert "Suites: ./\nSigned-By: " in source


def test_nodes_with_slurm_have_the_repository_of_its_packages(tmp_path: Path) -> None:
    """A file server has no part of Slurm."""
    replaced = ("slurm:\n", "slurm:\n  repository: site\n")
    cluster = inventories.changed(inventories.INVENTORY / "skynet", tmp_path, replaced)
    having = {
        node.name
        for node in cluster.nodes.values()
        if "/etc/apt/sources.list.d/gpupool-site.sources"
        in [file.path for file in files_of(cluster, node, "repositories")]
    }
    assert having == {node.name for node in cluster.nodes.values() if node.runs_slurm and node.managed}
    assert "multivac" not in having
