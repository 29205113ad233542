"""A GPU's own name is matched with the model in an inventory, and a node's GPUs with its declared GPUs."""

import pytest

from gpupool.nvidia.names import of_model, pattern
from gpupool.programs.gpus.declared import differences, is_model

# nvidia-smi's names for the five clusters' models and some more; most are in recorded.yml
SAME = [
    ("Tesla K40m", "Tesla K40"),
    ("Tesla V100-SXM2-16GB", "Tesla V100"),
    ("Tesla V100-SXM3-32GB", "Tesla V100"),
    ("NVIDIA A100-SXM4-80GB", "A100 80GB"),
    ("NVIDIA A100 80GB PCIe", "A100 80GB"),
    ("NVIDIA A40", "A40"),
    ("NVIDIA L4", "NVIDIA L4"),
    ("NVIDIA GeForce RTX 2080 Ti", "RTX 2080 Ti"),
    ("GeForce RTX 2080 Ti", "RTX 2080 Ti"),
    ("Quadro RTX 6000", "Quadro RTX 6000"),
    ("GeForce GTX TITAN X", "Titan X"),
    ("TITAN X (Pascal)", "Titan X"),
    ("TITAN Xp", "Titan Xp"),
    ("NVIDIA H100 80GB HBM3", "H100"),
    ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000"),
]
OTHER = [
    ("NVIDIA A100-SXM4-40GB", "A100 80GB"),
    ("NVIDIA RTX 6000 Ada Generation", "Quadro RTX 6000"),
    ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "Quadro RTX 6000"),
    ("NVIDIA GeForce RTX 2080", "RTX 2080 Ti"),
    ("NVIDIA L40", "NVIDIA L4"),
    ("NVIDIA L40S", "L40"),
    ("TITAN X (Pascal)", "GeForce GTX TITAN X"),
    ("TITAN Xp", "Titan X"),
    ("NVIDIA A4000", "A40"),
    ("Tesla K80", "Tesla K40"),
]


@pytest.mark.parametrize(("reported", "declared"), SAME)
def test_two_names_of_one_model_match(reported: str, declared: str) -> None:
    assert is_model(reported, pattern(declared))


@pytest.mark.parametrize(("reported", "declared"), OTHER)
def test_two_models_with_similar_names_do_not_match(reported: str, declared: str) -> None:
    assert not is_model(reported, pattern(declared))


def test_titan_x_alone_may_be_maxwell_or_pascal() -> None:
    assert [each.name for each in of_model("Titan X")] == ["Maxwell", "Pascal"]
    assert [each.name for each in of_model("TITAN X (Pascal)")] == ["Pascal"]


MODELS = {"a40": ["A40"], "titan_x": ["Titan X", "Titan Xp"], "ws": ["unknown"]}


@pytest.mark.parametrize(
    ("declared", "reported", "reasons"),
    [
        ({"a40": 2}, ["NVIDIA A40", "NVIDIA A40"], []),
        ({"titan_x": 3}, ["TITAN X (Pascal)", "TITAN Xp", "GeForce GTX TITAN X"], []),
        ({"a40": 8}, ["NVIDIA A40"] * 7, ["1 of 8 a40 missing"]),
        ({"a40": 2}, [], ["2 of 2 a40 missing"]),
        ({"a40": 1}, ["NVIDIA A40", "NVIDIA A40"], ["2 a40, but 1 declared"]),
        ({"a40": 1}, ["NVIDIA L40"], ["1 of 1 a40 missing", "1 NVIDIA L40, which is not a declared type"]),
        ({}, ["NVIDIA A40"], ["1 NVIDIA A40, which is not a declared type"]),
        ({"a40": 1, "titan_x": 1}, ["TITAN Xp", "NVIDIA A40"], []),
    ],
)
def test_the_gpus_of_a_node_are_compared_with_the_inventory(
    declared: dict[str, int], reported: list[str], reasons: list[str]
) -> None:
    patterns = {gpu: [pattern(model) for model in models] for gpu, models in MODELS.items()}
    assert list(differences(declared, patterns, reported)) == reasons
