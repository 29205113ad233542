"""The known hosts of a node by a real shell on real files, read by OpenSSH."""

import os
import subprocess
from pathlib import Path
from shutil import which

import pytest
from real_shell import do, twice

from gpupool.facts import host_keys as facts
from gpupool.facts.record import RECORD
from gpupool.operations import files, host_keys

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or which("ssh-keygen") is None, reason="needs root and ssh-keygen")
NODES = {"here": "here,here.x.org,10.0.0.1", "away": "away,10.0.0.2"}


@pytest.fixture
def etc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder instead of /etc/ssh, with keys of all kinds; the ECDSA key's file does not end its line."""
    monkeypatch.setattr(facts, "ETC", str(tmp_path))
    for module in (facts, host_keys):
        monkeypatch.setattr(module, "KNOWN", f"{tmp_path}/ssh_known_hosts")
    prelude = files._PRELUDE.replace(RECORD, f"{tmp_path}/record/files")
    monkeypatch.setattr(files, "_PRELUDE", prelude)
    for kind in ("ed25519", "ecdsa", "rsa"):
        make(tmp_path, kind)
    ecdsa = tmp_path / "ssh_host_ecdsa_key.pub"
    ecdsa.write_text(ecdsa.read_text().strip())
    return tmp_path


def make(etc: Path, kind: str) -> None:
    key = etc / f"ssh_host_{kind}_key"
    key.unlink(missing_ok=True)
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", str(key)], check=True)


def keys_of(etc: Path, name: str) -> list[str]:
    """Return OpenSSH's result for a host: kind and key of each."""
    command = ["ssh-keygen", "-F", name, "-f", f"{etc}/ssh_known_hosts"]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    return sorted(" ".join(line.split()[1:3]) for line in lines if not line.startswith("#"))


def own_keys(etc: Path) -> list[str]:
    return sorted(" ".join(path.read_text().split()[:2]) for path in etc.glob("*.pub"))


def test_openssh_finds_a_node_by_all_its_names_and_a_second_run_changes_nothing(etc: Path) -> None:
    twice(host_keys.known, nodes=NODES)
    assert len(own_keys(etc)) == 3
    for name in ("here", "here.x.org", "10.0.0.1"):
        assert keys_of(etc, name) == own_keys(etc)
    assert (etc / "ssh_known_hosts").stat().st_mode & 0o7777 == 0o644


def test_a_new_key_replaces_the_old_one_and_absent_nodes_keep_theirs(etc: Path) -> None:
    twice(host_keys.known, nodes=NODES)
    before = own_keys(etc)
    theirs = before[0]
    known = etc / "ssh_known_hosts"
    known.write_text(f"{known.read_text()}away,10.0.0.2 {theirs}\ngone {theirs}")  # no newline at the end
    for kind in ("ed25519", "rsa"):
        make(etc, kind)
    twice(host_keys.known, nodes=NODES)
    assert keys_of(etc, "here") == own_keys(etc) != before
    assert keys_of(etc, "10.0.0.2") == [theirs]
    assert keys_of(etc, "gone") == []


def test_a_link_is_not_followed(etc: Path) -> None:
    elsewhere = etc / "elsewhere"
    elsewhere.write_text(f"away {own_keys(etc)[0]}\n")
    (etc / "ssh_known_hosts").symlink_to(elsewhere)
    (done,) = do(host_keys.known, nodes=NODES)
    assert done.returncode == 0, done.stderr
    assert not (etc / "ssh_known_hosts").is_symlink()
    assert keys_of(etc, "away") == []
