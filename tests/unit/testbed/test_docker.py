"""Messages when docker is missing, not running or not permitted; images, networks and docker's output."""

import ipaddress
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from pace import until

from gpupool.errors import TestbedError
from gpupool.testbed import docker, dockerd, host, image, lifecycle, network, recipe
from gpupool.testbed.spec import Spec

SPEC = Spec("twin", "10.66.0.0/16", "example.org")


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Return a function that puts a fake docker on the PATH, which prints a given error and exits 1."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    def says(message: str) -> None:
        for name in ("docker", "dockerd"):
            (tmp_path / name).write_text(f"#!/bin/sh\necho '{message}' >&2\nexit 1\n")
            (tmp_path / name).chmod(0o755)

    return says


def test_without_docker_the_error_names_the_package_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(TestbedError, match=r"not installed on this machine.*sudo apt-get install docker\.io"):
        dockerd.ensure()


def test_a_stopped_daemon_needs_root(daemon: Callable[[str], None]) -> None:
    daemon("Cannot connect to the Docker daemon at unix:///var/run/docker.sock.")
    with pytest.raises(TestbedError, match=r"not running on this machine.*sudo systemctl start docker"):
        dockerd.ensure()


def test_without_permission_for_the_socket_the_error_names_the_group(daemon: Callable[[str], None]) -> None:
    daemon("permission denied while trying to connect to the Docker daemon socket")
    with pytest.raises(TestbedError, match=r"may not use docker.*usermod -aG docker"):
        dockerd.ensure()


def test_a_daemon_elsewhere_is_not_started_here(daemon: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    daemon("Cannot connect to the Docker daemon")
    monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.1:2375")
    with pytest.raises(TestbedError, match=r"DOCKER_HOST=tcp://192\.0\.2\.1:2375"):
        dockerd.ensure()


@pytest.mark.parametrize(
    ("stderr", "reason"),
    [
        ("Error response from daemon: Pool overlaps\n", "Pool overlaps"),
        (
            "unknown flag: --no-trunc\n\nUsage:  docker volume ls\n\nRun 'docker volume ls --help'\n",
            "unknown flag: --no-trunc",
        ),
        ("docker: Error response from daemon: no such image.\nSee 'docker run --help'.\n", "no such image."),
        (
            "Error response from daemon: network x has active endpoints\nexit status 1\n",
            "network x has active endpoints",
        ),
        ("", "exit 125"),
    ],
)
def test_the_reason_is_the_last_line_of_docker(stderr: str, reason: str) -> None:
    assert docker.reason(CompletedProcess([], 125, "", stderr)) == reason


@pytest.mark.parametrize("gone", ["network b not found", "No such container: b", "get b: no such volume"])
def test_objects_removed_since_the_listing_are_left_out(monkeypatch: pytest.MonkeyPatch, gone: str) -> None:
    done = CompletedProcess([], 1, '[{"Name": "/a"}]', f"Error response from daemon: {gone}\n")
    monkeypatch.setattr(docker, "attempt", lambda *_, **__: done)
    assert docker.inspect("network", ["a", "b"]) == {"a": {"Name": "/a"}}


def test_images_are_named_by_their_contents() -> None:
    tag = image.layer_tag("trixie", ["slurmd", "munge"])
    assert tag == image.layer_tag("trixie", frozenset(("munge", "slurmd")))
    assert tag.startswith("gpupool/node:trixie-")
    assert len({tag, image.layer_tag("trixie", ["munge"]), image.layer_tag("bookworm", ["munge", "slurmd"])}) == 3
    assert image.layer_tag("trixie", []) == image.base_tag("trixie")


def test_packages_of_most_nodes_are_installed_once_in_a_common_image(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    shared = frozenset({"munge", "slurm-client"})
    sets = [shared | {"slurmd"}, shared | {"slurmctld"}, frozenset({"nfs-common"}), frozenset({"munge"})]
    built: list[tuple[str, str]] = []
    monkeypatch.setattr(image, "is_here", lambda tag: tag == "debian:trixie" or tag in dict(built))
    monkeypatch.setattr(image, "_build", lambda origin, tag, _: built.append((tag, origin)))
    tags = image.ensure("trixie", sets, lambda _: None)
    base, common = image.base_tag("trixie"), image.layer_tag("trixie", shared)
    assert sorted(built) == sorted(
        [(base, "debian:trixie"), (common, base)]
        + [(tags[packages], common if shared < packages else base) for packages in sets]
    )


def test_images_do_not_depend_on_the_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    before = image.layer_tag("trixie", ["munge"])
    monkeypatch.setenv("http_proxy", "http://proxy.example.org:3128")
    assert host.proxies()["http_proxy"] == "http://proxy.example.org:3128"
    assert image.layer_tag("trixie", ["munge"]) == before


def test_an_image_contains_no_key_and_no_identity() -> None:
    text = recipe.layer({}, ["munge"])
    assert "rm -f /etc/ssh/ssh_host_* /etc/munge/munge.key" in text
    assert ": > /etc/machine-id" in text
    assert "policy-rc.d" in text


def fake_networks(monkeypatch: pytest.MonkeyPatch, **subnets: str) -> None:
    found = {name.replace("_", "-"): [ipaddress.ip_network(subnet)] for name, subnet in subnets.items()}
    monkeypatch.setattr(network, "_subnets", lambda: dict(found))


def test_a_network_in_use_is_named_with_a_free_one(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_networks(monkeypatch, other="10.66.128.0/17", next="10.67.0.0/16")
    with pytest.raises(TestbedError, match=r"in use by docker's network other.*--network 10\.68\.0\.0/16"):
        network.ensure(SPEC)


def test_a_network_that_changed_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_networks(monkeypatch, gpupool_twin="10.70.0.0/16")
    with pytest.raises(TestbedError, match="run testbed down"):
        network.ensure(SPEC)


def test_a_correct_network_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_networks(monkeypatch, gpupool_twin="10.66.0.0/16", other="10.70.0.0/16")
    monkeypatch.setattr(docker, "attempt", lambda *_, **__: pytest.fail("docker was called"))
    network.ensure(SPEC)


@pytest.mark.parametrize(
    ("text", "servers"),
    [
        ("nameserver 192.0.2.53\nnameserver 192.0.2.54\n", ("192.0.2.53", "192.0.2.54")),
        ("# local\nnameserver 127.0.0.1\nnameserver 192.0.2.53\n", ("192.0.2.53",)),
        ("nameserver fe80::1%eth0\n", ()),
    ],
)
def test_name_servers_are_limited_to_reachable_addresses(
    monkeypatch: pytest.MonkeyPatch, text: str, servers: tuple[str, ...]
) -> None:
    def read_text(path: Path, **_: Any) -> str:
        if str(path) == "/etc/resolv.conf":
            return text
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", read_text)
    assert host.nameservers() == servers


def test_a_daemon_that_we_start_does_not_use_our_temporary_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The daemon outlives this process, and creates files in its temporary folder at each command."""
    record = tmp_path / "record"
    (tmp_path / "dockerd").write_text(f"#!/bin/sh\nenv >{record}.new; mv {record}.new {record}\n")
    (tmp_path / "dockerd").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("TMPDIR", "/tmp/ours")
    monkeypatch.setenv("GPUPOOL_TEST_RUN", "ours")
    monkeypatch.setattr(dockerd, "LOG", tmp_path / "log")
    is_dir = Path.is_dir
    monkeypatch.setattr(Path, "is_dir", lambda path: path.name != "system" and is_dir(path))  # systemd is not running
    monkeypatch.setattr(dockerd, "forget_if_dead", lambda *_: None)
    dockerd._start()
    until(record.exists, "it has started")
    text = record.read_text()
    assert f"PATH={tmp_path}:" in text
    assert "ours" not in text


def test_the_pid_file_of_a_killed_daemon_is_removed(tmp_path: Path) -> None:
    pid_file = tmp_path / "docker.pid"
    # a parent that never waits for its child, which ends at once
    code = "import os, time; child = os.fork(); child or os._exit(0); print(child, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        status = Path(f"/proc/{child}/status")
        until(lambda: "State:\tZ" in status.read_text(), "the child has ended")
        name = status.read_text().splitlines()[0].split("\t")[1]
        pid_file.write_text(f"{child}\n")
        dockerd.forget_if_dead(pid_file, name)
        assert not pid_file.exists(), "a zombie counts as dead"
        pid_file.write_text(f"{parent.pid}\n")
        dockerd.forget_if_dead(pid_file, name)
        assert pid_file.exists(), "a daemon that lives keeps it"
        dockerd.forget_if_dead(pid_file, "dockerd")
        assert not pid_file.exists(), "another process has the number"
        parent.kill()
    dockerd.forget_if_dead(pid_file, name)


def test_a_network_is_removed_once_docker_counts_no_endpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = tmp_path / "counts"
    (tmp_path / "docker").write_text(
        f'#!/bin/sh\n[ -e {counts} ] && exit 0\n: > {counts}\necho "network x has active endpoints" >&2\nexit 1\n'
    )
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    lifecycle._remove_network("x")
    assert counts.exists()
