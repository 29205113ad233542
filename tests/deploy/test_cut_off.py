"""`kill -9` of a process that creates containers: the next run of the tests finds and removes what is left."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from pace import until
from suite import leftovers

from gpupool.rehearsal.twin import container as twin_container
from gpupool.rehearsal.twin import image as twin_image
from gpupool.testbed import docker, dockerd, image, spec, state
from tests.testbed.cluster import ROOT

EXAMPLE = ROOT / "inventory" / "example"
BUILD = """
from gpupool.testbed import image
with image.only_builder("gpupool/node:cut-off"):
    image._build({origin!r}, "gpupool/node:cut-off", "sleep infinity")
"""


@pytest.fixture
def prefix(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Give the tests here another prefix than the run that includes them."""
    dockerd.ensure()
    name = f"{os.environ['GPUPOOL_TESTBED_PREFIX']}-cut{os.getpid()}"
    monkeypatch.setenv("GPUPOOL_TESTBED_PREFIX", name)
    monkeypatch.setenv("GPUPOOL_TWIN_PREFIX", f"{name}-twin")
    monkeypatch.setenv(leftovers.MARK, name)
    yield name
    leftovers.remove()


def killed(*arguments: object, when: object) -> subprocess.Popen[bytes]:
    """Start a command of gpupool, and kill only that process when a condition holds."""
    process = subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    until(when, f"{arguments[1:4]} is in the midst of it")
    assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    return process


def containers(label: str) -> list[str]:
    return docker.labelled("container", label)


def test_the_next_run_removes_testbeds_twins_builds_and_processes(prefix: str) -> None:
    testbed, twin = f"{spec.LABEL}={prefix}-example", f"{twin_container.LABEL}={prefix}-twin"
    building = f"{image.BUILD_LABEL}=gpupool/node:cut-off"
    origin = twin_image.ensure("24.11", lambda _: None)
    command = ("-m", "gpupool")
    killed(*command, "testbed", "up", EXAMPLE, "--network", "10.173.0.0/16", when=lambda: len(containers(testbed)) > 1)
    killed(*command, "rehearse", EXAMPLE, when=lambda: containers(twin))
    killed("-c", BUILD.format(origin=origin), when=lambda: containers(building))
    hangs = subprocess.Popen(["sleep", "infinity"])
    assert docker.labelled("network", testbed)
    assert state.folder(f"{prefix}-example").exists()

    gone = leftovers.remove()

    assert hangs.wait() == -signal.SIGKILL
    assert f"process {hangs.pid} (sleep)" in gone
    for label in (testbed, twin, building):
        assert not containers(label)
    for kind in ("network", "volume"):
        assert not docker.labelled(kind, testbed)
    assert not state.folder(f"{prefix}-example").exists()
    assert not image.is_here("gpupool/node:cut-off")
    assert leftovers.remove() == []


def test_a_node_made_from_an_image_is_not_an_abandoned_build(prefix: str) -> None:
    """An image has the labels of the container in which it was built, and so has each node made from it."""
    origin, name = twin_image.ensure("24.11", lambda _: None), f"{prefix}-node"
    docker.run(["run", "--detach", "--name", name, "--label", f"{image.BUILD_LABEL}={origin}", origin, "sleep", "600"])
    try:
        assert image.remove_abandoned() == []
        assert docker.inspect("container", [name])[name]["State"]["Running"]
    finally:
        docker.run(["rm", "--force", name])


def test_a_build_with_a_waiting_process_continues(prefix: str) -> None:
    label = f"{image.BUILD_LABEL}=gpupool/node:cut-off"
    origin = twin_image.ensure("24.11", lambda _: None)
    builder = subprocess.Popen([sys.executable, "-c", BUILD.format(origin=origin)], cwd=ROOT)
    try:
        until(lambda: containers(label), "it builds")
        assert image.remove_abandoned() == []
        assert len(containers(label)) == 1
    finally:
        builder.kill()
        builder.wait()
    until(lambda: image.remove_abandoned() or not containers(label), "it is removed")
