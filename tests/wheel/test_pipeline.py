"""`gpupool init --repository`, and the jobs of its CI files for a merge request, from the wheel to their last step."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from wheels import Installed, build, install

#: Returns the commands of a job of a repository's CI.
Steps = Callable[[Path, str], list[str]]
#: The jobs that a merge request starts, in their order.
JOBS = ("check", "rehearse")


def github(site: Path, job: str) -> list[str]:
    steps = yaml.safe_load((site / ".github" / "workflows" / "gpupool.yml").read_text())["jobs"][job]["steps"]
    return [step["run"] for step in steps if "run" in step]


def gitlab(site: Path, job: str) -> list[str]:
    return list(yaml.safe_load((site / ".gitlab-ci.yml").read_text())[job]["script"])


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    place = tmp_path_factory.mktemp("pipeline")
    return install(build(place).wheel, sys.executable, place)


@pytest.mark.parametrize("steps", [github, gitlab])
def test_a_merge_request_of_a_new_repository_is_green(installed: Installed, steps: Steps, tmp_path: Path) -> None:
    site = tmp_path / "our-cluster"
    installed.good("gpupool", "init", "--repository", site)
    git(site, "init", "-q", "-b", "main")
    git(site, "add", ".")
    git(site, "commit", "-qm", "our cluster")
    partitions = site / "inventory" / "partitions.yml"
    partitions.write_text(partitions.read_text().replace("max_time: 2d", "max_time: 1d"))
    git(site, "commit", "-qam", "jobs of one day")
    variables = {
        "GPUPOOL_WHEEL": str(next(installed.home.parent.glob("*.whl"))),
        "PIP_CONSTRAINT": str(installed.home.parent / "constraints.txt"),
        "BASE": "main~1",
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    for job in JOBS:
        for step in steps(site, job):
            done = run(site, step, **variables)
            assert done.returncode == 0, f"{job}: {step}: {done.stdout}{done.stderr}"
    comment = (site / "comment.md").read_text()
    assert "MaxTime" in comment
    assert "## Plan" in comment
    assert list((site / "report").iterdir())


def run(site: Path, step: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a step of the CI in the repository, as its shell does."""
    env = {**os.environ, "NO_COLOR": "1", **variables}
    return subprocess.run(["sh", "-euc", step], cwd=site, env=env, capture_output=True, text=True, check=False)


def git(site: Path, *arguments: str) -> None:
    person = ("-c", "user.name=u-lab1", "-c", "user.email=u-lab1@example.org")
    subprocess.run(["git", *person, *arguments], cwd=site, check=True, capture_output=True)
