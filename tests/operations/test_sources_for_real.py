"""A repository of packages with a real apt: read once, and only packages signed by its key."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_shell import do, twice
from signed import gpg_home, new_key, publish, served

from gpupool import operations
from gpupool.facts import components
from gpupool.facts import sources as fact
from gpupool.facts.record import RECORD
from gpupool.operations import sources

HERE = "127.0.0.1"
COMPONENTS = ("main", "contrib", "non-free", "non-free-firmware")
OURS = ("Debian", "trixie", list(COMPONENTS[1:]))
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="apt-get update is root's"),
    pytest.mark.skipif(not shutil.which("gpg"), reason="gnupg is not installed"),
]


@pytest.fixture
def home() -> Iterator[Path]:
    """The home of gpg with the key of the repository."""
    with gpg_home() as folder:
        yield folder


@pytest.fixture
def repository(tmp_path: Path, home: Path) -> Iterator[str]:
    """A signed repository like Debian's behind a web server; yields its address, its key is `key.asc`."""
    top = tmp_path / "www"
    # the others are often empty, and then apt does not mention them
    lists = {"main": "Package: a\nVersion: 1\nArchitecture: amd64\nFilename: a.deb\n"}
    (tmp_path / "key.asc").write_text(new_key(home))
    publish(top, home, "trixie", dict.fromkeys(COMPONENTS, "") | lists)
    with served(top, HERE) as url:
        yield url


@pytest.fixture
def files(tmp_path: Path, repository: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A source and its key in a separate folder, and an apt that has no other source."""
    for folder in ("state/lists/partial", "cache/archives/partial", "etc/sources.list.d"):
        (tmp_path / folder).mkdir(parents=True)
    text = _moved(sources._PRELUDE, tmp_path)
    monkeypatch.setattr(sources, "_PRELUDE", text)
    monkeypatch.setattr(fact, "STAMP", str(tmp_path / "apt-sources"))
    monkeypatch.setattr(components, "_LOOK", components._LOOK.replace("/etc/apt", f"{tmp_path}/etc"))
    for module in (operations.files, operations.files.unwanted):
        monkeypatch.setattr(module, "RECORDING", module.RECORDING.replace(RECORD, str(tmp_path / "record")))
    monkeypatch.setattr(operations.files, "_PRELUDE", operations.files._PRELUDE.replace(RECORD, f"{tmp_path}/record"))
    config = tmp_path / "apt.conf"
    config.write_text(
        f'Dir::State "{tmp_path}/state"; Dir::State::status "/dev/null"; Dir::Cache "{tmp_path}/cache";\n'
        f'Dir::Etc "{tmp_path}/etc"; APT::Architecture "amd64";\n'
        'APT::Sandbox::User "root"; Acquire::http::Proxy "DIRECT"; Acquire::Retries "0";\n'
    )
    monkeypatch.setenv("APT_CONFIG", str(config))
    source = tmp_path / "etc/sources.list.d/gpupool-site.sources"
    key = tmp_path / "key.asc"
    source.write_text(f"Types: deb\nURIs: {repository}\nSuites: trixie\nComponents: main\nSigned-By: {key}\n")
    return [str(key), str(source)]


def _moved(script: str, folder: Path) -> str:
    for path in ("/usr/sbin/policy-rc.d", "/var/log/gpupool-packages.log", "/var/lib/gpupool-packages.lock"):
        script = script.replace(path, f"{folder}/{path.rpartition('/')[2]}")
    return script.replace(fact.STAMP, f"{folder}/apt-sources")


def test_a_source_is_read_once(files: list[str], tmp_path: Path) -> None:
    twice(sources.refreshed, files)
    assert list((tmp_path / "state/lists").glob("*_dists_trixie_*InRelease"))


def test_a_source_is_read_again_when_its_key_changes(files: list[str]) -> None:
    twice(sources.refreshed, files)
    key = Path(files[0])
    key.write_text(f"{key.read_text()}\n")
    twice(sources.refreshed, files)


def test_packages_signed_by_another_key_are_refused(files: list[str], tmp_path: Path) -> None:
    with gpg_home() as other:
        Path(files[0]).write_text(new_key(other))
    (done,) = do(sources.refreshed, files)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"{files[1]} cannot be read: ")
    assert "is not signed" in done.stderr.splitlines()[-1]
    assert not (tmp_path / "apt-sources").exists()


def test_an_unreachable_server_is_named(files: list[str]) -> None:
    source = Path(files[1])
    source.write_text(source.read_text().replace(HERE, f"{HERE}:9").replace(":9:", ":9/"))
    (done,) = do(sources.refreshed, files)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert f"gpupool-site.sources cannot be read: E: Failed to fetch http://{HERE}:9/" in last
    assert "Could not connect to" in last


def test_a_dead_source_keeps_apt_from_no_other(files: list[str], tmp_path: Path) -> None:
    alive = Path(files[1])
    dead = alive.with_name("gpupool-dead.sources")
    dead.write_text(alive.read_text().replace(HERE, f"{HERE}:9").replace(":9:", ":9/"))
    (done,) = do(sources.refreshed, [files[0], str(dead), str(alive)])
    assert (done.returncode, done.stderr.count("cannot be read")) == (1, 1)
    assert list((tmp_path / "state/lists").glob("*_dists_trixie_*InRelease"))
    assert not (tmp_path / "apt-sources").exists(), "the next apply tries again"


def test_missing_components_of_the_nodes_source_are_added_with_its_key(files: list[str], tmp_path: Path) -> None:
    ours = tmp_path / "etc/sources.list.d/gpupool-components.sources"
    assert do(sources.components, *OURS, str(ours)) == [], "apt has read no list yet"
    twice(sources.refreshed, files)
    twice(sources.components, *OURS, str(ours))
    assert f"Components: contrib non-free non-free-firmware\nSigned-By: {files[0]}\n" in ours.read_text()
    twice(sources.refreshed, [str(ours)])
    twice(sources.refreshed, files)
    # added by an admin meanwhile
    source = Path(files[1])
    source.write_text(source.read_text().replace("main", " ".join(COMPONENTS)))
    twice(sources.refreshed, files)
    assert do(sources.components, *OURS, str(ours)) == []
