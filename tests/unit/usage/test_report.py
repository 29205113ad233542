"""`gpupool storage report`: the answers of servers, in the view of people and programs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpupool.cluster.model import Cluster
from gpupool.facts.usage import LeftDirectory, UsageState, UsedDirectory
from gpupool.run.usage import UsageReport, add

SKYNET = Path(__file__).parents[3] / "inventory" / "skynet"
TIB = 1024**3  # in KiB
TOPS = ("/pskynet1", "/pskynet2", "/export/scratch")


def state(*directories: UsedDirectory, **changed: Any) -> UsageState:
    return UsageState(**{"directories": directories, "missing": dict.fromkeys(TOPS, 0), **changed})


def used(name: str, kib: int, top: str = "/pskynet1") -> UsedDirectory:
    return UsedDirectory(top, name, kib, "2020-11-21 15:04", name)


def report_by(skynet: Cluster, answer: UsageState | None) -> UsageReport:
    report = UsageReport()
    add(report, skynet, skynet.nodes["multivac"], answer)
    return report


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch, skynet: Cluster) -> Callable[[UsageState | None], None]:
    def answer(state: UsageState | None) -> None:
        monkeypatch.setattr("gpupool.run.usage.usage_report", lambda *_: report_by(skynet, state))

    return answer


@pytest.mark.promise("SKY-098")
def test_large_directories_are_first_with_the_paths_of_clients(
    gpupool: Callable[..., Any], answers: Callable[[UsageState | None], None]
) -> None:
    small, large = used("u-hays1", 10 * TIB), used("u-cvmlp1", 10 * TIB + 1)
    largest = used("datasets", 25 * TIB, "/export/scratch")
    answers(state(small, large, largest))
    out = gpupool("storage", "report", SKYNET, "--on", "nodes", "--over", "10T")
    assert out.code == 0
    lines = [line.split() for line in out.out.splitlines()]
    assert lines == [
        ["Size", "Updated", "Owner", "Account", "Directory"],
        ["25.0T", "2020-11-21", "15:04", "datasets", "/coc/scratch/datasets"],
        ["10.1T", "2020-11-21", "15:04", "u-cvmlp1", "cvmlp-lab", "/coc/pskynet1/u-cvmlp1"],
        ["directories", "larger", "than", "10T:", "2", "of", "3"],
    ]
    # the inventory's value is the default
    assert gpupool("storage", "report", SKYNET, "--on", "nodes").out == out.out


def test_json_has_the_same_content(gpupool: Callable[..., Any], answers: Callable[[UsageState | None], None]) -> None:
    answers(state(used("u-hays1", 2 * TIB), missing={**dict.fromkeys(TOPS, 0), "/pskynet2": 3}))
    document = json.loads(gpupool("storage", "report", SKYNET, "--on", "nodes", "--over", "1T", "--json").out)
    assert document == {
        "ok": True,
        "format_version": 1,
        "over_kib": TIB,
        "directories": [
            {
                **{"path": "/coc/pskynet1/u-hays1", "node": "multivac", "kib": 2 * TIB, "size": "2.0T"},
                **{"updated": "2020-11-21 15:04", "owner": "u-hays1", "account": "hays-lab"},
            }
        ],
        "counted": 1,
        "without_file": 3,
        "not_written": [],
        "trouble": {},
    }


def test_a_directory_without_a_file_is_named_with_the_reason(
    gpupool: Callable[..., Any], answers: Callable[[UsageState | None], None]
) -> None:
    why = "disk-usage.txt is not written: disk-usage.txt is a link of another owner"
    answers(
        state(left=(LeftDirectory("/pskynet1", "u-hays1", "u-hays1", why), LeftDirectory("/pskynet2", "", "root", "x")))
    )
    out = gpupool("storage", "report", SKYNET, "--on", "nodes", "--json")
    assert out.code == 0
    assert json.loads(out.out)["not_written"] == [
        {"path": "/coc/pskynet1/u-hays1", "node": "multivac", "owner": "u-hays1", "why": why},
        {"path": "/coc/pskynet2", "node": "multivac", "owner": "root", "why": "x"},
    ]
    assert f"/coc/pskynet1/u-hays1 (u-hays1): {why}" in gpupool("storage", "report", SKYNET, "--on", "nodes").out


@pytest.mark.parametrize(
    ("answer", "trouble"),
    [
        (None, {"multivac": "its file systems did not answer in time"}),
        (UsageState(absent=True), {"multivac": "the report is not installed yet: run gpupool apply"}),
        (
            state(missing=dict.fromkeys(TOPS[:2], 0), trouble={"/export/scratch": "does not answer"}),
            {"multivac:/export/scratch": "does not answer"},
        ),
        (
            state(missing=dict.fromkeys(TOPS[1:], 0)),
            {"multivac:/pskynet1": "no report of it yet: run gpupool apply"},
        ),
    ],
)
def test_an_unreadable_server_is_named(
    gpupool: Callable[..., Any],
    answers: Callable[[UsageState | None], None],
    answer: UsageState | None,
    trouble: dict[str, str],
) -> None:
    answers(answer)
    out = gpupool("storage", "report", SKYNET, "--on", "nodes", "--json")
    assert out.code == 1
    assert json.loads(out.out)["trouble"] == trouble


def test_an_invalid_size_and_an_inventory_without_usage_are_errors(gpupool: Callable[..., Any]) -> None:
    out = gpupool("storage", "report", SKYNET, "--on", "nodes", "--over", "ten")
    assert (out.code, "--over 'ten' is not a size" in out.err) == (2, True)
    out = gpupool("storage", "report", SKYNET.parent / "arandu", "--on", "nodes")
    assert (out.code, "storage.usage_report" in out.err) == (1, True)
