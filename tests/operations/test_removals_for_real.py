"""apt with a small archive and a dpkg database in a folder: an installation that would remove a package is refused."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from gpupool.distributions import slurm
from gpupool.distributions.tables import distribution
from gpupool.facts.packages import PackageState
from gpupool.facts.removals import Installation, Installations
from gpupool.operations import packages
from gpupool.operations.refusal import REFUSED
from gpupool.reasons import read

pytestmark = pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="needs Debian's dpkg and apt")

#: Name and further fields of each package: `timesyncd` cannot be beside `chrony`, as on Debian.
ARCHIVE = {
    "chrony": "Provides: time-daemon\nConflicts: time-daemon, clock-of-old, other-clock",
    "timesyncd": "Provides: time-daemon\nConflicts: time-daemon",
    "clock-tools": "Depends: timesyncd",
    "cowsay": "",
    "slurmd": "Version: 1:23.11.4-2",
    # Slurm of two sources, with the conflicts of SchedMD's debian/control
    "slurm-client": "Version: 24.11.5-4\nDepends: slurm-wlm-basic-plugins",
    "slurm-wlm-basic-plugins": "Version: 24.11.5-4",
    "slurm-smd": "Version: 24.11.7-1\nConflicts: slurm-wlm, slurm-wlm-basic-plugins",
    "slurm-smd-client": "Version: 24.11.7-1\nDepends: slurm-smd (= 24.11.7-1)\nConflicts: slurm-client",
}


class Node:
    """A node whose apt and dpkg work below a folder; chrony is installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("archive", "lists/partial", "cache/archives/partial", "root/var/lib/dpkg/updates", "bin", "tmp"):
            (folder / name).mkdir(parents=True)
        (folder / "root/var/lib/dpkg/info").mkdir()
        self.status = folder / "root/var/lib/dpkg/status"
        self.status.touch()
        (folder / "root/var/lib/dpkg/available").touch()
        index = "\n".join(self._build(name, fields) for name, fields in ARCHIVE.items())
        (folder / "archive/Packages").write_text(index)
        (folder / "sources.list").write_text(f"deb [trusted=yes] file:{folder}/archive ./\n")
        options = "".join(f'"{option}"; ' for option in self.dpkg[1:])
        (folder / "apt.conf").write_text(
            f'Dir::State::status "{self.status}";\nDir::State::lists "{folder}/lists";\n'
            f'Dir::State::extended_states "{folder}/extended";\nDir::Cache "{folder}/cache";\n'
            f'Dir::Log "{folder}/tmp";\n'
            f'Dir::Etc::sourcelist "{folder}/sources.list";\nDir::Etc::sourceparts "-";\nDir::Etc::parts "-";\n'
            f'Dir::Etc::preferencesparts "-";\nDPkg::Options {{ {options}}};\nAPT::Sandbox::User "root";\n'
        )
        self.environ = {
            **os.environ,
            "APT_CONFIG": str(folder / "apt.conf"),
            "DPKG_ADMINDIR": str(self.status.parent),
            "TMPDIR": str(folder / "tmp"),
        }
        subprocess.run([*self.dpkg, "-i", folder / "archive/chrony.deb"], check=True, capture_output=True)

    @property
    def dpkg(self) -> list[str]:
        return ["dpkg", f"--root={self.folder}/root", "--force-not-root", "--force-bad-path", "--log=/dev/null"]

    def _build(self, name: str, fields: str) -> str:
        tree, file = self.folder / "build" / name, self.folder / "archive" / f"{name}.deb"
        (tree / "DEBIAN").mkdir(parents=True)
        version = "" if "Version: " in fields else "Version: 1\n"
        control = f"Package: {name}\n{version}Architecture: all\nMaintainer: a test\nDescription: {name}\n{fields}"
        (tree / "DEBIAN/control").write_text(f"{control.strip()}\n")
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, file], check=True, capture_output=True)
        deb = file.read_bytes()
        sha256 = hashlib.sha256(deb).hexdigest()
        return f"{control.strip()}\nFilename: ./{name}.deb\nSize: {len(deb)}\nSHA256: {sha256}\n"

    def update(self) -> None:
        subprocess.run(["apt-get", "-q", "update"], check=True, capture_output=True, env=self.environ)

    def installation(self, *names: str, versions: dict[str, str] | None = None) -> Installation:
        command = Installations().command(packages=names, versions=versions).get_raw_value()
        ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True, env=self.environ)
        answer = Installations().process(ran.stdout.splitlines())
        assert answer is not None
        return answer

    def get(self, *names: str, first: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        """Run the script of `packages.installed`, with the files of the node below the folder."""
        script = "\n".join([packages.APT.strip(), *first, f"get {' '.join(names)}"])
        for path in ("/usr/sbin/policy-rc.d", "/var/log/gpupool-packages.log", "/var/lib/gpupool-packages.lock"):
            script = script.replace(path, f"{self.folder}/tmp/{path.rpartition('/')[2]}")
        return subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False, env=self.environ)

    def installed(self) -> set[str]:
        query = ["dpkg-query", f"--admindir={self.status.parent}", "-W", "-f=${db:Status-Status} ${Package}\n"]
        lines = subprocess.run(query, check=True, capture_output=True, text=True).stdout.splitlines()
        return {line.removeprefix("installed ") for line in lines if line.startswith("installed ")}


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_a_plan_names_what_apt_would_remove_and_the_package_that_needs_it(node: Node) -> None:
    node.update()
    chrony = PackageState({"chrony": "1"})
    assert node.installation("cowsay", "chrony") == Installation(chrony, {}, coming={"cowsay": "1"})
    removed, coming = {"chrony": "clock-tools, timesyncd"}, dict.fromkeys(["cowsay", "clock-tools", "timesyncd"], "1")
    found = node.installation("cowsay", "chrony", "clock-tools", "timesyncd")
    assert found == Installation(chrony, removed, coming=coming)


def test_a_package_that_apt_does_not_have_yet_hides_no_removal(node: Node) -> None:
    """A vendor's repository is put on the node later; what apt knows already shows the removal before any change."""
    node.update()
    found = node.installation("cowsay", "clock-tools", "of-a-vendor")
    assert (found.removed, found.untried) == ({"chrony": "clock-tools"}, "E: Unable to locate package of-a-vendor")
    assert found.coming == {"cowsay": "1", "clock-tools": "1"}


def test_without_lists_an_installed_package_names_its_conflicts(node: Node) -> None:
    found = node.installation("cowsay", "clock-of-old", "other-clock")
    assert found.removed == {"chrony": "clock-of-old, other-clock"}
    assert node.installation("cowsay").removed == {}


def test_a_plan_asks_for_versions(node: Node) -> None:
    node.update()
    found = node.installation("cowsay", versions={"cowsay": "1"})
    assert found == Installation(PackageState({}), {}, coming={"cowsay": "1"})
    unknown = "E: Version '2' for 'cowsay' was not found"
    assert node.installation("cowsay", versions={"cowsay": "2"}).untried == unknown
    assert node.installation("timesyncd", versions={"timesyncd": "1"}).removed == {"chrony": "timesyncd=1"}


def test_without_lists_a_plan_has_apts_reason(node: Node) -> None:
    unknown = "E: Unable to locate package timesyncd"
    assert node.installation("timesyncd") == Installation(PackageState({}), {}, unknown)


@pytest.mark.parametrize("first", [(), ("update",)])
def test_an_installation_that_would_remove_a_package_changes_nothing(node: Node, first: Sequence[str]) -> None:
    """Also if only new lists show this, which a plan cannot know."""
    if not first:
        node.update()
    before = node.status.read_text()
    ran = node.get("cowsay", "timesyncd", first=first)
    assert (ran.returncode, read(ran.stderr.splitlines())) == (1, REFUSED)
    assert ran.stderr.splitlines()[-1] == "apt would remove packages that the inventory does not name: chrony"
    assert node.status.read_text() == before


def test_other_packages_are_installed(node: Node) -> None:
    node.update()
    ran = node.get("cowsay")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert node.installed() == {"chrony", "cowsay"}


@pytest.mark.parametrize("first", [(), ("update",)])
def test_another_release_of_slurm_is_not_installed(node: Node, first: Sequence[str]) -> None:
    """Also if only new lists show it."""
    if not first:
        node.update()
    ran = node.get("slurmd", first=[*first, "only 24.11 'but …' slurmd"])
    assert (ran.returncode, read(ran.stderr.splitlines())) == (1, REFUSED)
    assert ran.stderr.splitlines()[-1] == "apt would install slurmd 1:23.11.4-2, but …"
    assert node.installed() == {"chrony"}


@pytest.mark.parametrize("release", ["23.11", "23.11.4"])
def test_the_wanted_release_of_slurm_is_installed(node: Node, release: str) -> None:
    ran = node.get("slurmd", first=["update", f"only {release} 'but …' slurmd unknown"])
    assert (ran.returncode, ran.stderr) == (0, "")
    assert node.installed() == {"chrony", "slurmd"}


@pytest.mark.parametrize(
    ("there", "source"),
    [(("slurm-smd", "slurm-smd-client"), "distribution"), (("slurm-wlm-basic-plugins", "slurm-client"), "schedmd")],
)
def test_packages_of_slurm_are_not_exchanged_for_those_of_another_source(
    node: Node, there: tuple[str, ...], source: slurm.Source
) -> None:
    node.update()
    files = [node.folder / f"archive/{name}.deb" for name in there]
    subprocess.run([*node.dpkg, "-i", *files], check=True, capture_output=True)
    own = sorted(slurm.names(distribution("trixie"), source, ["slurm commands"]))
    found = node.installation(*own)
    assert found.removed or found.untried, "apt also refuses alone"
    assert set(found.removed) <= set(slurm.others(distribution("trixie"), source))
    assert node.get(*own).returncode == 1
    assert set(there) <= node.installed()
    assert node.installation(*there).removed == {}
