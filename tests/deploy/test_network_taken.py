"""A testbed whose addresses are already used by another program."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpupool.testbed import dockerd

EXAMPLE = Path(__file__).parents[2] / "inventory" / "example"
PREFIX = f"{os.environ.get('GPUPOOL_TESTBED_PREFIX', 'gpupool-test')}-taken"
TAKEN = "10.96.128.0/17"


def docker(*arguments: str) -> str:
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def taken() -> Iterator[str]:
    dockerd.ensure()
    name = f"{PREFIX}-by-somebody"
    docker("network", "create", "--subnet", TAKEN, name)
    yield name
    docker("network", "rm", name)


def gpupool(*arguments: str | Path, state: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("gpupool")
    env = {**os.environ, "GPUPOOL_TESTBED_PREFIX": PREFIX, "XDG_STATE_HOME": str(state)}
    return subprocess.run([program, *arguments], env=env, capture_output=True, text=True, check=False)


def test_up_names_the_owner_of_the_addresses_and_a_free_network(taken: str, tmp_path: Path) -> None:
    done = gpupool("testbed", "up", EXAMPLE, "--network", "10.96.0.0/16", state=tmp_path)
    match = re.fullmatch(
        rf"10\.96\.0\.0/16 is in use by docker's network {taken}: choose another one, --network (\S+)\n", done.stderr
    )
    assert match, done.stderr
    assert (done.returncode, done.stdout) == (1, "")
    assert match[1].endswith("/16")
    assert match[1] != "10.96.0.0/16"


def test_a_refused_testbed_leaves_nothing_behind(taken: str, tmp_path: Path) -> None:
    assert gpupool("testbed", "up", EXAMPLE, "--network", "10.96.0.0/16", state=tmp_path).returncode == 1
    for kind in ("container", "network", "volume"):
        assert not docker(kind, "ls", "-q", "--filter", f"label=gpupool.testbed={PREFIX}-example")
    # otherwise plan and apply would treat it as a running testbed
    assert "there is no testbed" in gpupool("testbed", "status", EXAMPLE, state=tmp_path).stderr
