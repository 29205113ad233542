"""The tables of GPUs and drivers are consistent, and each row names its source."""

import pytest
import yaml
from inventories import INVENTORY

from gpupool.nvidia.names import models, of_model
from gpupool.nvidia.nvml import reported
from gpupool.nvidia.tables import architectures, branches, distributions, read
from gpupool.tables import version

ROWS = {
    "architectures": "capabilities",
    "branches": "branches",
    "debian": "distributions",
    "ubuntu": "distributions",
    "models": "models",
}
ROWS["nvml"] = "names"


@pytest.mark.parametrize(("table", "rows"), ROWS.items())
def test_every_row_names_its_sources(table: str, rows: str) -> None:
    whole = read(table)
    assert {
        key: row["source"] for key, row in whole[rows].items() if not set(row["source"]) <= set(whole["sources"])
    } == {}
    assert all(row["source"] for row in whole[rows].values())
    named = {source for row in whole[rows].values() for source in row["source"]}
    assert set(whole["sources"]) == named


def test_branches_are_in_order_and_newer_ones_support_as_much_as_older_ones() -> None:
    assert list(branches()) == sorted(branches(), key=version)
    supported = [version(each.cuda) for each in branches().values()]
    assert supported == sorted(supported)


def test_drivers_of_debian_are_in_the_table_of_branches() -> None:
    for distribution in distributions().values():
        assert set(distribution.branches) <= set(branches())
        assert distribution.default in distribution.branches
        assert all(branches()[name].open for name, packages in distribution.branches.items() if packages.open)


@pytest.mark.parametrize(
    ("model", "capability", "first", "last"),
    [
        ("Tesla K40", "3.5", "346", "470"),
        ("GeForce GTX TITAN X", "5.2", "346", "580"),
        ("TITAN Xp", "6.1", "367", "580"),
        ("Tesla V100", "7.0", "384", "580"),
        ("GeForce RTX 2080 Ti", "7.5", "410", None),
        ("A100", "8.0", "450", None),
        ("A40", "8.6", "455", None),
        ("L4", "8.9", "520", None),
        ("H100", "9.0", "520", None),
        ("B200", "10.0", "570", None),
    ],
)
def test_a_gpu_has_a_first_and_a_last_branch(model: str, capability: str, first: str, last: str | None) -> None:
    (known,) = of_model(model)
    assert (known.capability, known.first_branch, known.last_branch) == (capability, first, last)


def test_models_of_the_table_match_exactly_themselves() -> None:
    for model in models():
        (known,) = of_model(model)
        assert model in read("models")["models"][known.capability]["names"]


@pytest.mark.parametrize(
    ("model", "profile", "names"),
    [
        ("A30", "1g.6gb", ["nvidia_a30_1g.6gb"]),
        ("H200", "1g.18gb", ["nvidia_h200_1g.18gb"]),
        ("H100 PCIe", "1g.10gb", ["nvidia_h100_pcie_1g.10gb"]),
        ("A100", "1g.10gb", ["nvidia_a100_1g.10gb", "nvidia_a100_80gb_pcie_1g.10gb"]),
        ("A100 SXM4 80GB", "", ["nvidia_a100-sxm4-80gb"]),
        ("A40", "", []),
    ],
)
def test_the_names_of_nvml_in_slurm(model: str, profile: str, names: list[str]) -> None:
    assert reported(model, profile) == names


def test_the_page_agrees_with_the_table() -> None:
    page = (INVENTORY.parent / "docs" / "gpus.md").read_text().partition("## Known models")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| ")
    ]
    shown = {
        capability: [name, *rest] for name, capabilities, *rest in rows[1:] for capability in capabilities.split(", ")
    }
    assert shown == {
        each.capability: [
            each.name,
            each.first_branch,
            each.last_branch or "",
            each.first_cuda,
            each.last_cuda or "",
            each.module or "either",
        ]
        for each in architectures().values()
    }


def test_last_branches_and_toolkits_exist() -> None:
    for each in architectures().values():
        assert each.first_branch in branches()
        assert each.last_branch is None or each.last_branch in branches()
        assert each.last_cuda is None or version(each.last_cuda) >= version(each.first_cuda)


def test_every_model_of_the_six_inventories_is_known_except_unknown() -> None:
    written = {
        model
        for file in INVENTORY.glob("*/nodes.yml")
        for gpu in yaml.safe_load(file.read_text())["gpu_types"].values()
        for model in gpu["models"]
    }
    assert {model for model in written if not of_model(model)} == {"unknown"}
