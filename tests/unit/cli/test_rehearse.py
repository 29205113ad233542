"""`gpupool rehearse` in the view of people and programs; the twin itself is tested elsewhere: here it is a fake."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from rehearsed import rehearsal

from gpupool.engine.progress import Progress
from gpupool.errors import TwinError
from gpupool.rehearsal import run
from gpupool.rehearsal.run import Rehearsal
from gpupool.rehearsal.twin import Twin

ROOT = Path(__file__).parents[3]
SKYNET = ROOT / "inventory" / "skynet"


@dataclass
class Stage:
    """The calls of the twin, and the findings of the rehearsal."""

    broken: bool = False
    wrong: BaseException | None = None
    started: list[dict[str, Any]] = field(default_factory=list)
    stopped: int = 0
    asked: dict[str, Any] = field(default_factory=dict)


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    on = Stage()

    @dataclass
    class Standing:
        name: str = "gpupool-twin-1"

        def stop(self) -> None:
            on.stopped += 1

    def start(cluster: Any, wanted: Any = None, version: Any = None, **more: Any) -> Standing:
        on.started.append({"cluster": cluster, "version": version, "keep": more["keep"]})
        more["tell"]("slurmctld answers")
        return Standing()

    def rehearse(twin: Any, cluster: Any, *, progress: Progress, **more: Any) -> Rehearsal:
        on.asked = more
        result = rehearsal(broken=on.broken)
        for finding in result.findings:
            if on.wrong:
                raise on.wrong
            run.show(progress, finding)
        return Rehearsal(result.findings, result.moments, 1.0, on.started[-1]["version"])

    monkeypatch.setattr(Twin, "start", start)
    monkeypatch.setattr(run, "rehearse", rehearse)
    return on


def test_kept_promises_are_exit_0(stage: Stage, gpupool: Callable[..., Any]) -> None:
    done = gpupool("rehearse", SKYNET)
    assert done.code == 0
    assert "kept      cap " in done.out
    assert "! void: neighbour-cpus" in done.out
    assert "void: neighbour-cpus: kira-lab waited" in done.err
    assert stage.stopped == 1
    assert stage.started[0]["version"] == "24.11"


def test_a_broken_promise_is_exit_1(stage: Stage, gpupool: Callable[..., Any]) -> None:
    stage.broken = True
    done = gpupool("rehearse", SKYNET)
    assert done.code == 1
    assert "failed: cap: kira-lab held 33 GPUs" in done.err
    assert done.out.splitlines()[-1] == "1 of 16 promises was broken: skynet, Slurm 24.11"
    assert stage.stopped == 1


def test_with_json_nothing_else_is_printed(stage: Stage, gpupool: Callable[..., Any]) -> None:
    stage.broken = True
    done = gpupool("rehearse", SKYNET, "--json")
    assert done.code == 1
    document = json.loads(done.out)
    assert document["cluster"] == "skynet"
    assert document["slurm"] == "24.11"
    assert document["counts"]["broken"] == 1
    assert sum(document["caps"].values()) == document["gpus"] == 284
    assert {"ProctrackType", "AuthInfo"} <= {difference["key"] for difference in document["differences"]}


def test_the_report_is_two_files(stage: Stage, gpupool: Callable[..., Any], tmp_path: Path) -> None:
    folder = tmp_path / "a" / "report"
    done = gpupool("rehearse", SKYNET, "--report", folder)
    assert done.code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["index.html", "rehearsal.json"]
    assert 'data-lab="kira-lab"' in (folder / "index.html").read_text()
    assert len(json.loads((folder / "rehearsal.json").read_text())["moments"]) > 100
    assert f"the report is {folder}/index.html" in done.err
    (folder / "mine.txt").write_text("stays")
    assert gpupool("rehearse", SKYNET, "--report", folder).code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["index.html", "mine.txt", "rehearsal.json"]


def test_a_report_that_cannot_be_written_is_refused_before_the_twin_starts(
    stage: Stage, gpupool: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    done = gpupool("rehearse", SKYNET, "--report", tmp_path / "file" / "below")
    assert done.code == 1
    assert "is a file, and must be a folder" in done.err
    assert stage.started == []


@pytest.mark.parametrize("wrong", [KeyboardInterrupt(), TwinError("slurmctld died"), RuntimeError("ours")])
def test_the_twin_is_removed_after_every_end(
    wrong: BaseException, stage: Stage, gpupool: Callable[..., Any], tmp_path: Path
) -> None:
    stage.wrong = wrong
    if isinstance(wrong, RuntimeError):
        with pytest.raises(RuntimeError):
            gpupool("rehearse", SKYNET, "--report", tmp_path / "report")
    else:
        done = gpupool("rehearse", SKYNET, "--report", tmp_path / "report")
        assert done.code == (130 if isinstance(wrong, KeyboardInterrupt) else 1)
        assert done.out == ""
        assert ("interrupted: the twin was removed" in done.err) == isinstance(wrong, KeyboardInterrupt)
    assert stage.stopped == 1
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_report_leaves_the_former_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpupool.rehearsal.report import files as page_files

    rehearsed = rehearsal()
    page_files.write(tmp_path, rehearsed)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        page_files.write(tmp_path, replace(rehearsed, cluster="other"))
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_kept_twin_is_named(stage: Stage, gpupool: Callable[..., Any]) -> None:
    done = gpupool("rehearse", SKYNET, "--keep")
    assert done.code == 0
    assert stage.stopped == 0
    assert stage.started[0]["keep"] is True
    assert "docker exec -it gpupool-twin-1 bash" in done.err


def test_a_change_is_rehearsed_with_its_new_lab(stage: Stage, gpupool: Callable[..., Any], tmp_path: Path) -> None:
    done = gpupool("rehearse", SKYNET, "--with", ROOT / "docs" / "what-if.yml", "--report", tmp_path)
    assert done.code == 0
    assert "new-lab" in stage.started[0]["cluster"].accounts
    html = (tmp_path / "index.html").read_text()
    assert 'data-lab="new-lab"' in html
    assert "with what-if.yml" in html


def test_options_choose_the_release_and_the_promises(stage: Stage, gpupool: Callable[..., Any]) -> None:
    done = gpupool("rehearse", SKYNET, "--slurm", "26.05", "--only", "cap, per-user")
    assert done.code == 0
    assert stage.started[0]["version"] == "26.05"
    assert stage.started[0]["cluster"].slurm.version == "26.05"
    assert stage.asked["only"] == {"cap", "per-user"}
    assert "Slurm 26.05" in done.out


def test_promises_are_listed_with_the_keys_of_only_and_none_is_tested(
    stage: Stage, gpupool: Callable[..., Any]
) -> None:
    example = ROOT / "inventory" / "example"
    done = gpupool("rehearse", example, "--list")
    assert (done.code, stage.started) == (0, [])
    rows = {line.split()[0]: line for line in done.out.splitlines()}
    assert rows["cap"].endswith("  Every lab can use as many GPUs at once as it contributed, and no more")
    assert rows["least"].endswith(" (not made: no partition has a minimum for jobs)")
    assert "debug-goes-first" in rows
    listed = json.loads(gpupool("rehearse", example, "--list", "--json", "--only", "cap,least").out)
    assert [(each["key"], each["not_made_because"]) for each in listed["promises"]] == [
        ("cap", None), ("least", "no partition has a minimum for jobs"),
    ]  # fmt: skip
    assert gpupool("rehearse", example, "--only", ",".join(rows)).code == 0


def test_the_promises_of_a_site_are_rehearsed_too(stage: Stage, gpupool: Callable[..., Any]) -> None:
    assert gpupool("rehearse", ROOT / "inventory" / "example").code == 0
    assert [promise.key for promise in stage.asked["extra"]] == ["debug-goes-first"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "cpa"], "--only: there is no promise cpa (did you mean cap?)"),
        (["--only", "xyzzy"], "--only: there is no promise xyzzy (known: cap-nodes, cap-cpus, "),
        (["--with", "nowhere.yml"], "nowhere.yml:1: error: cannot be read: No such file or directory"),
    ],
)
def test_invalid_arguments_are_exit_2_and_start_no_twin(
    arguments: list[str], message: str, stage: Stage, gpupool: Callable[..., Any]
) -> None:
    done = gpupool("rehearse", SKYNET, *arguments)
    assert done.code == 2
    assert done.err.startswith(message)
    assert stage.started == []


def test_another_release_than_the_three_is_refused(stage: Stage, gpupool: Callable[..., Any]) -> None:
    done = gpupool("rehearse", SKYNET, "--slurm", "23.02")
    assert done.code == 2
    assert all(word in done.err for word in ("'--slurm'", "'23.02'", "'22.05'", "'24.11'", "'26.05'"))
    assert stage.started == []


def test_a_release_that_no_twin_can_run_needs_another_and_the_report_names_it(
    stage: Stage, gpupool: Callable[..., Any], tmp_path: Path
) -> None:
    change = tmp_path / "between.yml"
    change.write_text("slurm: {version: '25.11'}\n")
    done = gpupool("rehearse", SKYNET, "--with", change)
    assert (done.code, stage.started) == (2, [])
    assert "a twin cannot run Slurm 25.11: there is no image with it, only with 22.05, 24.11" in done.err
    done = gpupool("rehearse", SKYNET, "--with", change, "--slurm", "26.05", "--json")
    assert (done.code, stage.started[0]["version"]) == (0, "26.05")
    assert json.loads(done.out)["not_rehearsed_with"] == "25.11"


def test_a_broken_inventory_prints_the_complaints_of_check(stage: Stage, gpupool: Callable[..., Any]) -> None:
    broken = Path(__file__).parents[1] / "cluster" / "broken" / "typo_key"
    done = gpupool("rehearse", broken)
    assert done.code == 2
    assert "unknown key (did you mean contributed_gpus?)" in done.err
    assert stage.started == []


def test_without_docker_the_error_names_what_to_install(
    gpupool: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = gpupool("rehearse", SKYNET)
    assert done.code == 1
    assert "docker" in done.err
    assert "Traceback" not in done.err
