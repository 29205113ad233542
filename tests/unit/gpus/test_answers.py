"""Nodes' answers about their GPUs are parsed correctly: texts of real machines, recorded with their origin."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpupool.programs.gpus import answers

RECORDED = yaml.safe_load((Path(__file__).parent / "recorded.yml").read_text(encoding="utf-8"))
CASES = [
    pytest.param(kind, row, id=f"{kind}-{index}") for kind, rows in RECORDED.items() for index, row in enumerate(rows)
]
IN_LINES = ("from_lspci", "from_query", "from_list")


def plain(value: Any) -> dict[str, Any]:
    """Return the fields of a reader's result that are known."""
    whole = {key: each for key, each in asdict(value).items() if each not in (None, ())}
    if "instances" in whole:
        whole["instances"] = [[each["profile"], each["uuid"]] for each in whole["instances"]]
    return whole


@pytest.mark.parametrize(("kind", "case"), CASES)
def test_a_recorded_text_is_read(kind: str, case: dict[str, Any]) -> None:
    text = case["text"].splitlines() if kind in IN_LINES else case["text"]
    more = {"fields": case["fields"]} if "fields" in case else {}
    value = getattr(answers, kind)(text, **more)
    assert ([plain(each) for each in value] if isinstance(value, list) else plain(value)) == case["gives"]


def test_every_recorded_text_has_an_origin() -> None:
    assert all(row["origin"] for rows in RECORDED.values() for row in rows)


def test_the_queried_fields_are_read() -> None:
    # made up: no published text has exactly these fields
    row = "NVIDIA A40, GPU-86e60957-0cc5-7959-855b-28f0d7bac243, 00000000:4F:00.0, 550.163.01, [N/A]"
    (gpu,) = answers.from_query([row])
    assert plain(gpu) == {
        "model": "NVIDIA A40",
        "uuid": "GPU-86e60957-0cc5-7959-855b-28f0d7bac243",
        "address": "0000:4f:00.0",
        "driver": "550.163.01",
    }


@pytest.mark.parametrize(
    ("text", "address", "reason"),
    [
        # https://github.com/NVIDIA/open-gpu-kernel-modules/issues/387
        ("Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error", "0000:0b:00.0", "Unknown Error"),
        # https://github.com/pdbear/syno_nvidia_gpu_driver/issues/22
        ("Unable to determine the device handle for GPU0000:07:00.0: Unknown Error", "0000:07:00.0", "Unknown Error"),
        # https://github.com/NVIDIA/open-gpu-kernel-modules/issues/246
        ("Unable to determine the device handle for gpu 0000:01:00.0: Not Found", "0000:01:00.0", "Not Found"),
        # https://github.com/JosephKJ/OWOD/issues/81
        (
            "Unable to determine the device handle for GPU 0000:02:00.0: "
            "GPU is lost. Reboot the system to recover this GPU",
            "0000:02:00.0",
            "GPU is lost. Reboot the system to recover this GPU",
        ),
    ],
)
def test_a_gpu_that_cannot_be_reached_is_named(text: str, address: str, reason: str) -> None:
    assert list(answers.lost(text)) == [(address, reason)]


def test_without_a_driver_there_is_no_version() -> None:
    assert answers.from_version("") is None


def test_a_gpu_in_a_slot_that_the_driver_does_not_know() -> None:
    """Two Quadro RTX 6000 are in slots, and the driver knows one of them."""
    slots = answers.from_lspci(RECORDED["from_lspci"][0]["text"].splitlines())
    (missing,) = answers.unseen(slots, [answers.Gpu("Quadro RTX 6000", address="0000:73:00.0")])
    assert missing.address == "0000:d5:00.0"


@pytest.mark.parametrize(
    ("written", "kernel"),
    [
        ("4f:00.0", "0000:4f:00.0"),
        ("0000:4F:00.0", "0000:4f:00.0"),
        ("00000000:4F:00.0", "0000:4f:00.0"),
        ("00000001:00:00.0", "0001:00:00.0"),
    ],
)
def test_an_address_has_one_form(written: str, kernel: str) -> None:
    assert answers.address_of(written) == kernel
