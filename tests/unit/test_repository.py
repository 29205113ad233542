"""The repository that `gpupool init --repository` writes: its CI files are valid, and their steps run in it."""

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ssh_server import LOCAL, Server, serving
from typer.testing import CliRunner

from gpupool.cli import app
from gpupool.cli.app import imported

ROOT = Path(__file__).parents[2]
COMMAND = r"^(?!#).*?\b(gpupool (?:check|render|testbed|apply|plan|rehearse|drift) [^>|;]*)"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A fresh git repository with one commit."""
    folder = tmp_path / "our-cluster"
    assert CliRunner().invoke(app.app, ["init", "--repository", str(folder)]).exit_code == 0
    program = tmp_path / "bin" / "gpupool"
    program.parent.mkdir()
    start = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from gpupool.cli import main; main()"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c {shlex.quote(start)} "$@"\n')
    program.chmod(0o755)
    run(folder, "git init -q -b main && git add . && git commit -qm first")
    return folder


def run(site: Path, step: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a step of the CI in the repository, as its shell does."""
    person = {
        f"GIT_{role}_{key}": "u-lab1@example.org" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")
    }
    path = f"{site.parent / 'bin'}:{os.environ['PATH']}"
    env = {**os.environ, **person, "PATH": path, "NO_COLOR": "1", **variables}
    return subprocess.run(["sh", "-euc", step], cwd=site, env=env, capture_output=True, text=True, check=False)


def github(site: Path) -> dict[str, Any]:
    return dict(yaml.safe_load((site / ".github" / "workflows" / "gpupool.yml").read_text())["jobs"])


def gitlab(site: Path) -> dict[str, Any]:
    jobs: dict[str, Any] = yaml.safe_load((site / ".gitlab-ci.yml").read_text())
    return {name: job for name, job in jobs.items() if name != "stages"}


def steps(site: Path, job: str) -> list[list[str]]:
    """Return the commands of a job on GitHub and on GitLab."""
    return [[step["run"] for step in github(site)[job]["steps"] if "run" in step], gitlab(site)[job]["script"]]


def commit_of(site: Path) -> str:
    return run(site, "git rev-parse HEAD").stdout.strip()


def test_both_run_the_same_scripts_which_exist(site: Path) -> None:
    called: list[list[str]] = []
    for jobs in zip(*(steps(site, name) for name in ("check", "rehearse", "drift")), strict=True):
        called.append(re.findall(r"sh (ci/\w+\.sh)", "\n".join(step for job in jobs for step in job)))
    assert called[0] == called[1]
    used = {*called[0], "ci/nightly.sh", "ci/report.sh"}
    assert used == {f"ci/{path.name}" for path in (site / "ci").iterdir()}


def test_only_a_job_that_runs_nothing_of_the_change_may_write_and_only_drift_has_a_key(site: Path) -> None:
    workflow = yaml.safe_load((site / ".github" / "workflows" / "gpupool.yml").read_text())
    assert workflow["permissions"] == {"contents": "read"}
    assert {name for name, job in workflow["jobs"].items() if "permissions" in job} == {"comment"}
    assert not any("checkout" in step.get("uses", "") for step in workflow["jobs"]["comment"]["steps"])
    assert {name for name, job in workflow["jobs"].items() if "secrets." in str(job)} == {"drift"}
    assert "pull_request_target" not in str(workflow)


def test_jobs_of_gitlab_have_stages_and_needs_that_exist(site: Path) -> None:
    stages = yaml.safe_load((site / ".gitlab-ci.yml").read_text())["stages"]
    jobs = gitlab(site)
    assert {job["stage"] for job in jobs.values()} == {*stages}
    assert {need["job"] for job in jobs.values() for need in job.get("needs", ())} <= jobs.keys()
    assert {need for job in github(site).values() for need in [job.get("needs")] if need} <= github(site).keys()


def commands_of(site: Path) -> Iterator[tuple[str, list[str]]]:
    for script in sorted((site / "ci").glob("*.sh")):
        for line in re.findall(COMMAND, script.read_text(), re.MULTILINE):
            yield script.name, shlex.split(line)[1:]


def test_the_scripts_use_commands_and_options_that_exist(site: Path) -> None:
    found = list(commands_of(site))
    assert {words[0] for _, words in found} == {"check", "render", "testbed", "apply", "plan", "rehearse", "drift"}
    for script, (name, *words) in found:
        command: Any = imported(name)
        if name == "testbed":
            command, words = command.commands[words[0]], words[1:]
        command.make_context(f"{script}: {name}", words)


def test_the_check_passes_and_names_a_mistake(site: Path) -> None:
    for job in steps(site, "check"):
        assert job[-1] == "sh ci/check.sh"
        assert run(site, job[-1]).returncode == 0
    (hook,) = yaml.safe_load((site / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    labs = site / "inventory" / "labs.yml"
    labs.write_text(labs.read_text().replace("account: vision-lab", "account: vison-lab"))
    done = run(site, hook["entry"])
    assert done.returncode == 2
    assert "vison-lab" in done.stdout + done.stderr
    assert re.match(hook["files"], "inventory/labs.yml")


def test_without_an_address_of_a_wheel_the_installation_names_the_variable(site: Path) -> None:
    done = run(site, "unset GPUPOOL_WHEEL; sh ci/install.sh")
    assert done.returncode != 0
    assert "GPUPOOL_WHEEL: set this variable of the CI" in done.stderr


def test_the_comment_has_the_difference_of_files(site: Path) -> None:
    for job in steps(site, "rehearse"):
        (step,) = [step for step in job if "difference" in step]
        assert run(site, step, BASE=commit_of(site)).returncode == 0
        assert (site / "comment.md").read_text() == "## Files of nodes\n\nNo file of a node changes.\n"
    base = commit_of(site)
    partitions = site / "inventory" / "partitions.yml"
    partitions.write_text(partitions.read_text().replace("max_time: 2d, tier: 80", "max_time: 3d, tier: 80"))
    assert run(site, step, BASE=base).returncode == 0
    comment = (site / "comment.md").read_text()
    assert "files of nodes change" in comment
    assert re.search(r"^\+PartitionName=short .*MaxTime=3-00:00:00", comment, re.MULTILINE)
    assert comment.count("~~~~~~~~") == 2
    assert run(site, "git status --porcelain").stdout == " M inventory/partitions.yml\n"


def test_the_first_commit_of_an_inventory_has_a_comment_too(site: Path) -> None:
    run(site, "git rm -rq --cached inventory && git commit -qm without && git add inventory && git commit -qm with")
    done = run(site, 'sh ci/difference.sh "$BASE"', BASE="HEAD~1")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^[0-9]+ files of nodes change\.$", done.stdout, re.MULTILINE)
    assert done.stdout.endswith("run `sh ci/difference.sh COMMIT` for all of it.\n")
    assert len(done.stdout) < 65536


def test_a_report_of_the_night_is_judged_by_its_exit_code_and_age(site: Path) -> None:
    now = int(time.time())
    assert run(site, f"printf '{now} 0\\nno drift\\n' | sh ci/report.sh").stdout == "no drift\n"
    drifted = run(site, f"printf '{now} 3\\na40-01 /etc/hosts\\n' | sh ci/report.sh")
    assert (drifted.returncode, drifted.stdout) == (3, "a40-01 /etc/hosts\n")
    old = run(site, f"printf '{now - 200000} 0\\nno drift\\n' | sh ci/report.sh")
    assert old.returncode == 1
    assert "does the timer on the administering machine still run" in old.stderr
    for wrong in ("", "no route to host\\n", "12 \\n"):
        assert run(site, f"printf '{wrong}' | sh ci/report.sh").returncode == 1


def drift_job(site: Path, server: Server) -> list[subprocess.CompletedProcess[str]]:
    """Run the job `drift` of GitHub and that of GitLab, with their variables."""
    values = {
        "vars.GPUPOOL_DRIFT_HOST": f"ssh://ci@{LOCAL}:{server.port}",
        "vars.GPUPOOL_DRIFT_KNOWN_HOSTS": Path(server.data["ssh_known_hosts_file"]).read_text(),
        "secrets.GPUPOOL_DRIFT_KEY": Path(server.data["ssh_key"]).read_text(),
    }
    done = []
    for step in github(site)["drift"]["steps"]:
        if "run" in step:
            env = {
                name: re.sub(r"\$\{\{ (.*) }}", lambda match: values[match[1]], text)
                for name, text in step["env"].items()
            }
            done.append(run(site, step["run"], **env))
    # GitLab writes variables of the type File itself
    files = {"GPUPOOL_DRIFT_KEY": "ssh_key", "GPUPOOL_DRIFT_KNOWN_HOSTS": "ssh_known_hosts_file"}
    env = {name: server.data[key] for name, key in files.items()}
    for line in gitlab(site)["drift"]["script"]:
        done.append(run(site, line, GPUPOOL_DRIFT_HOST=values["vars.GPUPOOL_DRIFT_HOST"], **env))
    return done


def test_the_nightly_job_prints_the_report_and_fails_on_a_difference(site: Path) -> None:
    report = site.parent / "report"
    with serving(site.parent / "machine", user="ci") as server:
        server.forced = f"cat {shlex.quote(str(report))}"
        for status, text in ((0, "no drift\n"), (3, "a40-01 /etc/hosts\n")):
            report.write_text(f"{int(time.time())} {status}\n{text}")
            keys, *judged = drift_job(site, server)
            assert keys.returncode == 0, keys.stderr
            assert [(done.returncode, done.stdout) for done in judged] == [(status, text)] * 2, judged
        assert {*server.asked.read_text().splitlines()} == {server.forced}
        known = Path(server.data["ssh_known_hosts_file"])
        known.write_text(f"[{LOCAL}]:{server.port} ssh-ed25519 {'A' * 68}\n")
        assert [done.returncode for done in drift_job(site, server)] == [0, 1, 1]
    (site / "drift.key").unlink()


def test_the_nightly_report_keeps_the_exit_code_and_the_reason(site: Path) -> None:
    run(site, "git init -q --bare ../origin && git remote add origin ../origin && git push -qu origin main")
    (site / "inventory" / "labs.yml").write_text("accounts: 1\n")
    assert run(site, "sh ci/nightly.sh ../drift").returncode == 0
    judged = run(site, "sh ci/report.sh <../drift")
    assert judged.returncode == 2
    assert "labs.yml:1" in judged.stdout
    assert sorted(path.name for path in site.parent.iterdir()) == ["bin", "drift", "origin", "our-cluster"]


def test_a_repository_is_never_written_over_files(site: Path) -> None:
    before = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    again = CliRunner().invoke(app.app, ["init", "--repository", str(site)])
    assert again.exit_code != 0
    assert {path: path.read_bytes() for path in site.rglob("*") if path.is_file()} == before
