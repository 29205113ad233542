"""Amounts of TRES and gres in Slurm's notation."""

import pytest

from gpupool.slurm.tres import amount, gpus, gpus_of_gres, read


def test_amounts_are_read_with_memory_in_mib() -> None:
    text = "cpu=4,mem=10G,node=1,billing=4,gres/gpu=2,gres/gpu:a40=2"
    amounts = {"cpu": 4, "mem": 10240, "node": 1, "billing": 4, "gres/gpu": 2, "gres/gpu:a40": 2}
    assert read(text) == amounts
    assert gpus(read(text)) == {"": 2, "a40": 2}
    assert read("") == read("(null)") == {}


@pytest.mark.parametrize(
    ("text", "mib"),
    [("508559M", 508559), ("1.50G", 1536), ("2T", 2097152), ("512K", 0.5), ("1P", 1024**3), ("7", 7)],
)
def test_memory_has_units(text: str, mib: float) -> None:
    assert amount("mem", text) == mib


@pytest.mark.parametrize("text", ["cpu", "cpu=", "cpu=x", "cpu=4G", "mem=4X", "cpu=1e9", "cpu=nan", "cpu=4 State=IDLE"])
def test_other_text_is_no_amount(text: str) -> None:
    with pytest.raises(ValueError, match="is not an amount of a TRES"):
        read(text)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("gpu:a40:8(S:0-1),gpu:2,shard:4", {"a40": 8, "": 2}),
        ("gpu:a40:4(S:0),gpu:a40:4(S:1)", {"a40": 8}),
        ("gpu:a40:8,gpu-vram:32", {"a40": 8}),
        ("(null)", {}),
        ("", {}),
    ],
)
def test_gpus_are_read_from_a_nodes_gres(text: str, counts: dict[str, int]) -> None:
    assert gpus_of_gres(text) == counts
