"""sshd itself evaluates its settings: another file that decides instead of gpupool's drop-in is found."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gpupool.facts import sshd
from gpupool.facts.sshd import Overridden, Overrides
from tests.operations.real_shell import fact_here

pytestmark = pytest.mark.skipif(
    not shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin"), reason="sshd is not installed"
)

TEXT = """HostKey KEY
PasswordAuthentication no
PermitRootLogin prohibit-password
AcceptEnv SKY_VSC_LAUNCH
Match User *,!root Group *,!sudo
    DenyUsers *
"""


@pytest.fixture
def etc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder instead of /etc/ssh, with the files of Debian and those of cloud-init."""
    monkeypatch.setattr(sshd, "ETC", str(tmp_path))
    (tmp_path / "sshd_config.d").mkdir()
    # sshd prints no settings without a host key
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True)
    (tmp_path / "sshd_config").write_text(f"Include {tmp_path}/sshd_config.d/*.conf\nAcceptEnv LANG LC_*\nUsePAM yes\n")
    (tmp_path / "sshd_config.d/zz-later.conf").write_text("PasswordAuthentication yes\nPermitRootLogin yes\n")
    return tmp_path


def found(etc: Path) -> list[Overridden]:
    path = f"{etc}/sshd_config.d/gpupool.conf"
    settings: list[Overridden] = fact_here(
        Overrides, path=path, text=TEXT.replace("KEY", f"{etc}/key"), users=["root", "daemon"]
    )
    return settings


def test_no_later_file_counts_and_lists_add_up(etc: Path) -> None:
    assert found(etc) == []
    assert not (etc / "sshd_config.d/gpupool.conf").exists()


@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [
        ("50-cloud-init.conf", "PasswordAuthentication yes", ("passwordauthentication", ("no",), ("yes",))),
        ("00-site.conf", "permitrootlogin=yes", ("permitrootlogin", ("without-password",), ("yes",))),
        ("00-site.conf", "Match User root\n PasswordAuthentication yes", ("passwordauthentication", ("no",), ("yes",))),
    ],
)
def test_an_earlier_file_that_decides_is_named(
    etc: Path, name: str, line: str, expected: tuple[str, tuple[str, ...], tuple[str, ...]]
) -> None:
    (etc / "sshd_config.d" / name).write_text(f"{line}\n")
    assert found(etc) == [Overridden(*expected, (f"{etc}/sshd_config.d/{name}",))]


def test_settings_above_the_include_decide(etc: Path) -> None:
    config = etc / "sshd_config"
    config.write_text(f"PasswordAuthentication yes\n{config.read_text()}")
    assert found(etc) == [Overridden("passwordauthentication", ("no",), ("yes",), (f"{etc}/sshd_config",))]


def test_without_an_include_no_drop_in_is_read(etc: Path) -> None:
    (etc / "sshd_config").write_text(f"HostKey {etc}/key\n")
    assert {setting.keyword for setting in found(etc)} >= {"passwordauthentication", "acceptenv", "denyusers"}
