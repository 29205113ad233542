"""The installed program: from nothing to a running cluster in containers, in an empty folder."""

import json
import os
import sys
from collections.abc import Iterator

import pytest
from wheels import Installed, build, install

PREFIX = f"{os.environ.get('GPUPOOL_TESTBED_PREFIX', 'gpupool-test')}-wheel"
NETWORK = "10.97.0.0/16"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """An applied testbed of the inventory that `gpupool init` writes."""
    place = tmp_path_factory.mktemp("wheel")
    installed = install(build(place).wheel, sys.executable, place, GPUPOOL_TESTBED_PREFIX=PREFIX)
    installed.good("gpupool", "init", "my-site")
    try:
        installed.good("gpupool", "testbed", "up", "my-site", "--network", NETWORK)
        installed.good("gpupool", "apply", "my-site", "--on", "testbed", "--yes")
        yield installed
    finally:
        gone = installed.run("gpupool", "testbed", "down", "my-site")
    assert gone.returncode == 0, gone.stderr


def test_a_second_plan_finds_nothing_to_change(site: Installed) -> None:
    assert "nothing to change" in site.good("gpupool", "plan", "my-site", "--on", "testbed")


def test_all_checks_pass(site: Installed) -> None:
    assert "all pass" in site.good("gpupool", "verify", "my-site", "--on", "testbed")


def test_slurm_allocates_gpus(site: Installed) -> None:
    srun = [
        "runuser",
        "-u",
        "u-vision1",
        "--",
        "srun",
        "-p",
        "short",
        "--gres=gpu:2",
        "printenv",
        "CUDA_VISIBLE_DEVICES",
    ]
    assert site.good("gpupool", "testbed", "ssh", "my-site", "login1", "--", *srun) == "0,1\n"


def test_plain_pyinfra_runs_the_same_deploy(site: Installed) -> None:
    where = site.good(site.bin / "python", "-c", "from gpupool.run.runner import SITE; print(SITE)").strip()
    site.good("gpupool", "init", "--full", "reference")
    (site.home / "reference" / "inventory.py").rename(site.home / "my-site" / "inventory.py")
    output = site.good(
        "pyinfra",
        "my-site/inventory.py",
        where,
        "--dry",
        "--json",
        PYINFRA_PROGRESS="off",
        GPUPOOL_ON="testbed",
    )
    plan = json.loads(output)["plan"]
    assert len(plan) > 20
    assert [step["name"] for step in plan if step["hosts_with_change"] or step["hosts_with_conditional_change"]] == []
