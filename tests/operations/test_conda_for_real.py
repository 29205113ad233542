"""conda is installed by a real shell, from an installer with the interface of the real one."""

import os
import subprocess
from pathlib import Path

import pytest
from opened import open_to_all
from pyinfra.api.exceptions import OperationError
from real_shell import do, run_as, twice

from gpupool.operations import conda
from gpupool.operations.files import sha256_of

INSTALLER = Path(__file__).parents[1] / "shared" / "conda_installer.sh"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


class Place:
    """The destination of an installer's conda, and its arguments."""

    def __init__(self, folder: Path, text: str) -> None:
        self.installer = folder / "installer.sh"
        self.installer.write_text(text)
        self.sha256 = sha256_of(text)
        self.link = folder / "opt" / "conda"
        self.directory = folder / "opt" / f"conda-{self.sha256[:12]}"
        self.begun = folder / "opt" / f"{self.directory.name}.gpupool-new"

    @property
    def wanted(self) -> dict[str, str]:
        url = f"file://{self.installer}"
        return {"url": url, "sha256": self.sha256, "directory": str(self.directory), "link": str(self.link)}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setattr(conda, "_PRELUDE", conda._PRELUDE.replace("/var/lib/gpupool", f"{tmp_path}/state"))
    return Place(open_to_all(tmp_path), INSTALLER.read_text())


@pytest.mark.promise("SKY-109")
def test_users_create_and_activate_environments_of_the_conda_for_all(place: Place, tmp_path: Path) -> None:
    twice(conda.installed, **place.wanted)
    assert not place.begun.exists()
    assert subprocess.run([f"{place.directory}/bin/conda", "--version"], check=True, capture_output=True).stdout
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 20001, 20001)
    script = f". {place.directory}/etc/profile.d/conda.sh; conda create -n e python=3.9; conda activate e; python x"
    done = run_as(20001, 20001, "env", f"HOME={home}", "bash", "-euc", script)
    assert (done.stdout, done.stderr) == ("python of e: x\n", "")
    assert (home / ".conda/envs/e/created").read_text() == "create -n e python=3.9\n"


def test_conda_belongs_to_root_and_has_no_users_home(place: Place) -> None:
    more = 'chown 1000:1000 "$prefix/bin/conda"; chmod 777 "$prefix/envs"; echo "$HOME" > "$prefix/home"\n'
    other = Place(place.installer.parent, place.installer.read_text() + more)
    twice(conda.installed, **other.wanted)
    entries = [other.directory, *other.directory.rglob("*")]
    assert {(entry.stat().st_uid, entry.stat().st_gid, entry.stat().st_mode & 0o022) for entry in entries} == {
        (0, 0, 0)
    }
    assert (other.directory / "home").read_text().strip() == f"{other.begun}/home"


def test_an_installer_with_another_checksum_is_never_run(place: Place) -> None:
    place.installer.write_text(f"touch {place.link.parent}/ran\n")
    (done,) = do(conda.installed, **place.wanted)
    assert done.returncode == 1
    assert f"its sha256 is {sha256_of(place.installer.read_text())}, and {place.sha256} in the inventory" in done.stderr
    assert list(place.link.parent.iterdir()) == []


def test_a_missing_installer_is_named(place: Place) -> None:
    place.installer.unlink()
    (done,) = do(conda.installed, **place.wanted)
    assert done.returncode == 1
    assert done.stderr.startswith(f"cannot download file://{place.installer}: ")
    assert not place.directory.exists()


def test_an_installation_that_failed_or_was_killed_is_repeated(place: Place) -> None:
    good = place.installer.read_text()
    broken = Place(place.installer.parent, good.replace('HOME is $HOME"\n', 'HOME is $HOME"; exit 3\n'))
    (done,) = do(conda.installed, **broken.wanted)
    assert done.returncode == 1
    assert f"file://{broken.installer} failed: installing to {broken.directory}" in done.stderr
    assert broken.begun.is_dir()
    # the same directory, left by a run that was killed halfway
    place.installer.write_text(good)
    place.directory.mkdir()
    (place.directory / "half").touch()
    place.begun.mkdir()
    twice(conda.installed, **place.wanted)
    assert not (place.directory / "half").exists()
    assert not place.begun.exists()


@pytest.mark.parametrize("which", ["link", "directory"])
def test_an_existing_directory_that_is_not_ours_is_refused(place: Place, which: str) -> None:
    path: Path = getattr(place, which)
    (path / "mine").mkdir(parents=True)
    with pytest.raises(OperationError, match=f"{path} already exists, and gpupool did not install it"):
        do(conda.installed, **place.wanted)
    assert (path / "mine").is_dir()


def test_two_runs_at_once_install_it_once(place: Place) -> None:
    script = conda._PRELUDE + f"install_conda file://{place.installer} {place.sha256} {place.directory}\n"
    runs = [subprocess.Popen(["sh", "-c", script], stderr=subprocess.PIPE) for _ in range(4)]
    assert [(run.wait(), run.communicate()[1]) for run in runs] == [(0, b"")] * 4
    assert (place.directory / ".gpupool-installed").read_text().strip() == place.sha256
