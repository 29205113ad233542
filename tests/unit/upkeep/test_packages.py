"""Packages of nodes are raised by the real apt and dpkg, in a separate root, from an archive on disk."""

import hashlib
import os
import subprocess
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest
from fake_controller import FakeController
from maintaining import ONE, TWO, Run

from gpupool.shell import shell_file
from gpupool.upkeep.packages import Newer, Package, newer, read
from gpupool.upkeep.price import Price

_LOG = "/var/log/gpupool-packages.log"
SLURM = "Slurm: gpupool upgrade"
DRIVER = "the GPU driver: software.nvidia_driver of the inventory"


@dataclass(frozen=True)
class System:
    """A root with its own apt and dpkg."""

    root: Path

    def package(self, name: str, version: str, source: str = "", depends: str = "", broken: bool = False) -> Path:
        """Return the file of an empty package."""
        build = self.root / "build" / f"{name}_{version}"
        (build / "DEBIAN").mkdir(parents=True)
        control = f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: tests\nDescription: test\n"
        control += f"Source: {source}\n" if source else ""
        control += f"Depends: {depends}\n" if depends else ""
        (build / "DEBIAN/control").write_text(control)
        if broken:
            (build / "DEBIAN/preinst").write_text("#!/bin/sh\nexit 1\n")
            (build / "DEBIAN/preinst").chmod(0o755)
        path = self.root / f"{name}_{version}_all.deb"
        subprocess.run(["dpkg-deb", "-b", build, path], check=True, capture_output=True)
        return path

    def installed(self, *packages: Path) -> None:
        subprocess.run(["dpkg", f"--root={self.root}", "--force-all", "-i", *packages], check=True, capture_output=True)

    def offer(self, suite: str, *packages: Path) -> None:
        """Write a suite of the archive with these packages."""
        folder = self.root / "archive" / suite
        folder.mkdir(parents=True)
        index = ""
        for package in packages:
            content = package.read_bytes()
            (folder / package.name).write_bytes(content)
            control = subprocess.run(["dpkg-deb", "-f", package], check=True, capture_output=True, text=True).stdout
            index += f"{control}Filename: ./{package.name}\nSize: {len(content)}\n"
            index += f"SHA256: {hashlib.sha256(content).hexdigest()}\n\n"
        (folder / "Packages").write_text(index)
        digest = hashlib.sha256(index.encode()).hexdigest()
        release = f"Origin: Debian\nLabel: Debian\nSuite: {suite}\nSHA256:\n {digest} {len(index.encode())} Packages\n"
        (folder / "Release").write_text(release)
        with (self.root / "etc/apt/sources.list").open("a") as sources:
            sources.write(f"deb [trusted=yes] file:{folder} ./\n")

    def run(self, act: str, scope: str) -> subprocess.CompletedProcess[str]:
        script = shell_file("gpupool.upkeep", "packages.sh").replace(_LOG, str(self.root / "log"))
        environment = {
            **os.environ, "APT_CONFIG": str(self.root / "apt.conf"), "DPKG_ROOT": str(self.root),
            "DPKG_ADMINDIR": str(self.root / "var/lib/dpkg"), "TMPDIR": str(self.root),
        }  # fmt: skip
        return subprocess.run(
            ["sh", "-c", script, "packages", act, scope], check=False, capture_output=True, text=True, env=environment
        )

    def outcome(self, act: str, scope: str) -> tuple[Package, ...]:
        done = self.run(act, scope)
        assert done.returncode == 0, done.stderr + (self.root / "log").read_text()
        return read(done.stdout)

    def versions(self) -> dict[str, str]:
        query = ["dpkg-query", f"--admindir={self.root}/var/lib/dpkg", "-W", "-f=${Package} ${Version}\n"]
        lines = subprocess.run(query, check=True, capture_output=True, text=True).stdout.splitlines()
        return dict(line.split(" ") for line in lines)


@pytest.fixture
def system(tmp_path: Path) -> System:
    """An empty root; apt and dpkg of this machine work in it."""
    apt = ("preferences.d", "apt.conf.d", "trusted.gpg.d")
    var = ("dpkg/updates", "dpkg/info", "apt/lists/partial")
    others = ("var/cache/apt/archives/partial", "var/log/apt")
    for folder in (*(f"etc/apt/{name}" for name in apt), *(f"var/lib/{name}" for name in var), *others):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("var/lib/dpkg/status", "var/lib/dpkg/available", "etc/apt/sources.list"):
        (tmp_path / file).touch()
    (tmp_path / "apt.conf").write_text(
        f'Dir "{tmp_path}";\nDir::State::status "{tmp_path}/var/lib/dpkg/status";\nDir::Bin::dpkg "/usr/bin/dpkg";\n'
        f'Dir::Bin::methods "/usr/lib/apt/methods";\nAPT::Sandbox::User "root";\n'
        f'DPkg::Options {{ "--root={tmp_path}"; "--force-script-chrootless"; "--force-not-root"; }};\n'
    )
    return System(tmp_path)


@pytest.fixture
def raised(system: System) -> System:
    """A root with five packages, and an archive with a security fix of one, and newer versions of all."""
    old = [
        system.package("libssl3", "3.0-1"), system.package("vim", "9.0"),
        system.package("slurmd", "24.11.5-1", source="slurm-wlm"),
        system.package("nvidia-smi", "550.1", source="nvidia-graphics-drivers"),
        system.package("nvidia-container-toolkit", "1.17"),
    ]  # fmt: skip
    system.installed(*old)
    system.offer(
        "stable-security", system.package("libssl3", "3.0-1+deb13u1"),
        system.package("slurmd", "24.11.5-2", source="slurm-wlm"),
    )  # fmt: skip
    system.offer(
        "stable", system.package("libssl3", "3.0-2"), system.package("vim", "9.1"),
        system.package("nvidia-smi", "550.2", source="nvidia-graphics-drivers"),
        system.package("nvidia-container-toolkit", "1.18"),
    )  # fmt: skip
    return system


def test_security_raises_packages_to_the_version_of_the_suite_of_security_only(raised: System) -> None:
    fix = Package("libssl3", "3.0-1", "3.0-1+deb13u1")
    slurm = Package("slurmd", "24.11.5-1", "24.11.5-2", SLURM)
    before = raised.versions()
    assert set(raised.outcome("list", "security")) == {fix, slurm}
    assert raised.versions() == before
    assert set(raised.outcome("raise", "security")) == {fix, slurm}
    assert raised.versions() == {**before, "libssl3": "3.0-1+deb13u1"}
    assert raised.outcome("raise", "security") == (slurm,)


def test_all_raises_everything_but_slurm_and_the_driver(raised: System) -> None:
    before = raised.versions()
    held = {package.name: package.held for package in raised.outcome("raise", "all") if package.held}
    assert held == {"slurmd": SLURM, "nvidia-smi": DRIVER}
    assert raised.versions() == {
        **before, "libssl3": "3.0-2", "vim": "9.1", "nvidia-container-toolkit": "1.18"
    }  # fmt: skip


def test_a_package_that_an_admin_holds_stays(raised: System) -> None:
    subprocess.run(["dpkg", f"--root={raised.root}", "--set-selections"], input="vim hold\n", text=True, check=True)
    assert "vim" not in {package.name for package in raised.outcome("raise", "all")}
    assert raised.versions()["vim"] == "9.0"


@pytest.mark.parametrize("headers", [True, False])
def test_a_kernel_moves_with_its_headers_or_stays(system: System, headers: bool) -> None:
    names = ["linux-image-amd64", *(["linux-headers-amd64"] if headers else [])]
    system.installed(system.package("dkms", "3.0"), *(system.package(name, "6.12.1") for name in names))
    new = [system.package(name, "6.12.2", depends=f"{name[:-5]}6.12.2-amd64") for name in names]
    system.offer("stable-security", *new, *(system.package(f"{name[:-5]}6.12.2-amd64", "6.12.2") for name in names))
    found = system.outcome("raise", "security")
    assert {package.name for package in found} == set(names)
    why = "" if headers else "the kernel: dkms builds modules, and no headers come with it"
    assert {package.held for package in found} == {why}
    assert ("linux-image-6.12.2-amd64" in system.versions()) == headers


def test_a_raise_that_would_also_raise_slurm_is_refused(system: System) -> None:
    system.installed(system.package("slurmd", "24.11.5-1", source="slurm-wlm"), system.package("tool", "1"))
    system.offer(
        "stable", system.package("slurmd", "24.11.6-1", source="slurm-wlm"),
        system.package("tool", "2", depends="slurmd (>= 24.11.6)"),
    )  # fmt: skip
    done = system.run("raise", "all")
    assert (done.returncode, done.stderr) == (1, "apt would also raise slurmd, which must stay\n")
    assert system.versions() == {"slurmd": "24.11.5-1", "tool": "1"}


def test_an_archive_that_does_not_answer_and_a_package_that_fails_are_errors(system: System) -> None:
    system.installed(system.package("tool", "1"))
    system.offer("stable", system.package("tool", "2", broken=True))
    done = system.run("raise", "all")
    assert done.returncode == 1
    assert done.stderr.startswith("apt-get install: ")
    (system.root / "etc/apt/sources.list").write_text("deb [trusted=yes] file:/nonexistent ./\n")
    done = system.run("list", "all")
    assert done.returncode == 1
    assert done.stderr.startswith("apt-get update: ")


def test_nodes_are_asked_and_one_without_an_answer_has_an_error(fake: FakeController) -> None:
    fake.newer["gpu-1"] = f"raise\tvim\t9.0\t9.1\nheld\tslurmd\t1\t2\t{SLURM}\n"
    fake.silent.add("gpu-2")
    found = newer(fake, fake.target.cluster.having("compute"), "all")
    assert found["gpu-1"] == Newer((Package("vim", "9.0", "9.1"), Package("slurmd", "1", "2", SLURM)))
    assert found["gpu-1"].brief == "1 package (vim)"
    assert "no answer" in found["gpu-2"].error


VIM = "raise\tvim\t9.0\t9.1\n"


def test_packages_are_raised_on_drained_nodes_and_nodes_without_newer_ones_stay_in_service(run: Run) -> None:
    run.runner.changes.clear()
    run.fake.newer[ONE] = VIM
    assert run(packages="security") == {ONE: ("done", ""), TWO: ("nothing to do", "")}
    assert run.prepared.progress[ONE].changes == ["vim 9.0 becomes 9.1"]
    order = [text for node, text in run.fake.asked if node == ONE and "packages" in text]
    assert order == ["packages list security", "packages raise security"]
    assert run.left_behind() == ({}, {}, [], [])


def test_a_canary_whose_packages_fail_stops_all_others(run: Run) -> None:
    run.runner.changes.clear()
    run.fake.newer = {ONE: VIM, TWO: VIM}
    run.fake.refused["^packages raise"] = "apt-get install: E: it fails"
    found = run(packages="all", at_most=2)
    assert [phase for phase, _ in found.values()] == ["failed", "not begun"]
    assert found[ONE][1].endswith("apt-get install: E: it fails")
    assert run.applied() == []
    assert run.slurm.nodes[ONE].reason.startswith("gpupool: maintain: failed: ")


def test_a_node_that_needs_a_reboot_after_its_packages_is_rebooted(run: Run) -> None:
    run.runner.changes.clear()
    run.fake.newer[ONE] = VIM
    run.runner.effects["apply"] = lambda _: run.fake.needs.__setitem__(ONE, "packages need a reboot")
    before = run.slurm.nodes[ONE].booted
    assert run(packages="all")[ONE] == ("done", "")
    assert run.slurm.nodes[ONE].booted > before


def test_the_lists_of_apt_that_cannot_be_read_leave_a_node_alone(run: Run) -> None:
    run.fake.refused["^packages list"] = "apt-get update: E: no answer"
    found = run(packages="all")
    assert {phase for phase, _ in found.values()} == {"left alone"}
    assert run.applied() == []


def test_the_price_is_the_jobs_to_wait_for_and_the_node_hours_until_their_time_limits(run: Run) -> None:
    at = run.clock.time()
    long, short = (datetime.fromtimestamp(at + hours * 3600).isoformat(timespec="seconds") for hours in (5, 2))
    run.slurm.run_job(ONE, ends=long)
    run.slurm.run_job(ONE, ends=short)
    assert run.prepare().price == Price(2, pytest.approx(5, abs=0.01))
    run.slurm.run_job(TWO, ends="")
    assert run.prepare().price == Price(3, pytest.approx(5, abs=0.01), (TWO,))
