"""A driver that does not support its GPUs is refused before a node is changed; the clusters' choices are accepted."""

from collections.abc import Callable, Iterator
from pathlib import Path

import inventories
import pytest
from inventories import cluster_at

from gpupool.cluster.drivers import Driver, drivers
from gpupool.cluster.load import examine
from gpupool.cluster.model import Cluster

SKYNET = inventories.INVENTORY / "skynet"
CHOSEN = 'driver_branch: "460", cuda: "11.2", repository: site'

# wrong choices for SkyNet, and the start of each reason; it has Titan X, RTX 2080 Ti, RTX 6000 and A40
WRONG = {
    "a branch that dropped the Titan X": (
        'driver_branch: "590", repository: site',
        "driver_branch: branch 590 no longer supports titan_x (Titan X, Maxwell) of vicki and 13 more: "
        "580 is the last branch that does (use 550, which Debian trixie has, or write another choice for these nodes",
    ),
    "a branch that is too old for the A40": (
        'driver_branch: "440", repository: site',
        "driver_branch: branch 440 is too old for a40 (A40, Ampere) of a40-01 and 3 more: its CUDA is 10.2, 11.1 is",
    ),
    "the open module on a Titan X": (
        'driver_branch: "550", module: open',
        "module: the open kernel module does not support titan_x (Titan X, Maxwell) of vicki and 13 more",
    ),
    "an open module of a branch without one": (
        'driver_branch: "460", repository: site, module: open',
        "module: branch 460 has no open kernel module: 515 is the first with one",
    ),
    "a CUDA that is newer than the branch": (
        'driver_branch: "460", cuda: "11.4", repository: site',
        "cuda: CUDA 11.4 is promised, but branch 460 supports 11.2 (promise 11.2, or use branch 470 or later)",
    ),
    "a CUDA that is older than the A40": (
        'driver_branch: "460", cuda: "11.0", repository: site',
        "needs CUDA 11.1, but software.cuda.cuda is 11.0",
    ),
    "a branch that Debian does not have": (
        'driver_branch: "460"',
        "driver_branch: Debian trixie has no driver branch 460, only 535, 550",
    ),
    "a branch that is not known": (
        'driver_branch: "471", repository: site',
        "driver_branch: unknown driver branch 471 (did you mean 470?)",
    ),
    "a repository that is not declared": (
        'driver_branch: "460", repository: sites',
        "repository: there is no repository 'sites' (did you mean site?)",
    ),
    "a repository without a branch": ("repository: site", "repository: the repository site may have several branches"),
    "a version of another branch": (
        'driver_branch: "550", version: 535.261.03-1',
        "version: version 535.261.03-1 is not of branch 550",
    ),
    "an override for some nodes that does not fit them": (
        'overrides: [{where: "@gpu:titan_x", driver_branch: "590", repository: site}]',
        "overrides[0].driver_branch: branch 590 no longer supports titan_x",
    ),
}


@pytest.fixture
def skynet(tmp_path: Path) -> Callable[[str], list[str]]:
    """Return a function that returns the errors of SkyNet's inventory with another choice of driver."""

    def errors(choice: str) -> list[str]:
        folder = inventories.copied(SKYNET, tmp_path / "skynet", (CHOSEN, choice))
        return [str(each) for each in examine(folder).errors]

    return errors


@pytest.mark.parametrize("choice", WRONG)
def test_a_wrong_driver_is_refused_with_its_reason(choice: str, skynet: Callable[[str], list[str]]) -> None:
    written, reason = WRONG[choice]
    errors = skynet(written)
    assert any(reason in error for error in errors), errors


@pytest.mark.parametrize("choice", WRONG)
def test_a_reason_has_a_hint(choice: str, skynet: Callable[[str], list[str]]) -> None:
    written, reason = WRONG[choice]
    (error,) = [error for error in skynet(written) if reason in error]
    assert error.endswith(")") or reason.startswith("needs CUDA")


def test_two_models_of_one_type_have_one_complaint(skynet: Callable[[str], list[str]]) -> None:
    (error,) = skynet('driver_branch: "590", repository: site')
    assert "titan_x" in error


def test_a_newer_branch_for_the_nodes_that_need_it_is_accepted(skynet: Callable[[str], list[str]]) -> None:
    choice = 'overrides: [{where: "@gpu:a40", driver_branch: "595", module: open, repository: site}]'
    assert skynet(choice) == []


@pytest.mark.promise("SKY-183")
@pytest.mark.parametrize(
    ("folder", "chosen"),
    [
        ("skynet", {"titan_x": ("460", "11.2"), "a40": ("460", "11.2"), "2080_ti": ("460", "11.2")}),
        ("aau-ai-cloud", {"v100": ("550", "12.4")}),
        ("gcp-slurm", {"l4": ("535", "12.2")}),
        ("arandu", {"a100": ("550", "12.4")}),
        ("santos-dumont", {"k40": ("470", "11.4"), "v100": ("470", "11.4")}),
    ],
)
def test_the_clusters_own_choices_are_accepted(folder: str, chosen: dict[str, tuple[str, str]]) -> None:
    cluster = cluster_at(inventories.INVENTORY / folder)
    assert {gpu: driver_of(cluster, gpu) for gpu in chosen} == chosen


def drivers_of(cluster: Cluster) -> Iterator[Driver]:
    return drivers(cluster.software, cluster.select, lambda name: cluster.nodes[name].system)


def driver_of(cluster: Cluster, gpu: str) -> tuple[str | None, str | None]:
    """Return branch and CUDA of the nodes with a GPU type."""
    nodes = {node.name for node in cluster.nodes.values() if gpu in node.gpus}
    (driver,) = [each for each in drivers_of(cluster) if each.nodes & nodes]
    return driver.branch, driver.promised or driver.cuda


def test_an_override_inherits_its_other_keys_except_the_version(tmp_path: Path) -> None:
    choice = (
        'driver_branch: "550", version: 550.163.01-2, cuda: "12.2", '
        'overrides: [{where: "@gpu:a40", driver_branch: "535"}, {where: "@gpu:2080_ti", module: open}]'
    )
    cluster = inventories.changed(SKYNET, tmp_path / "skynet", (CHOSEN, choice))
    a40, turing, others = drivers_of(cluster)
    assert (a40.branch, a40.version, a40.promised) == ("535", None, "12.2")
    assert (turing.branch, turing.version, turing.module) == ("550", "550.163.01-2", "open")
    assert (others.branch, others.version, others.module) == ("550", "550.163.01-2", "proprietary")
    assert len(a40.nodes) + len(turing.nodes) + len(others.nodes) == len(cluster.having("compute"))


def test_a_newer_cuda_than_a_gpu_supports_is_a_warning(tmp_path: Path) -> None:
    folder = inventories.copied(
        SKYNET, tmp_path / "skynet", (CHOSEN, 'driver_branch: "580", cuda: "13.0", repository: site')
    )
    loaded = examine(folder)
    assert loaded.errors == []
    (warning,) = [str(each) for each in loaded.complaints if "software.cuda" in str(each)]
    assert "programs built with CUDA 13.0 do not run on titan_x (Titan X, Maxwell)" in warning
    assert "12.9 is the last for it (promise 12.9 there)" in warning


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("-----BEGIN PGP " + "PRIVATE KEY BLOCK-----", "this is a private key"),
        ("https://packages.example.org/key.asc", "is not an armored public key"),
    ],
)
def test_a_repository_contains_its_public_key(key: str, reason: str, tmp_path: Path) -> None:
    text = (inventories.SMALL / "inventory.yml").read_text()
    repository = f'{{url: "https://packages.example.org", suite: ./, key: "{key}"}}'
    (tmp_path / "inventory.yml").write_text(f"{text}software: {{repositories: {{site: {repository}}}}}\n")
    (error,) = [str(each) for each in examine(tmp_path).errors]
    assert f"software.repositories.site.key: {reason}" in error or reason in error


def test_a_cluster_whose_gpus_have_no_driver_needs_no_choice(tmp_path: Path) -> None:
    folder = inventories.copied(
        SKYNET, tmp_path / "skynet", (CHOSEN, 'driver_branch: "590"'), ("driver: nvidia", "driver: fake")
    )
    assert examine(folder).errors == []
