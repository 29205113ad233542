"""The check before slurmd starts on an elastic node, run for real with a fake scontrol."""

import fcntl
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from inventories import INVENTORY, cluster_at

from gpupool.compile import files_of
from gpupool.compile.slurm.elastic import CHECK, STALE, STAMP
from gpupool.unix import APPLY_LOCK

NODE = "mlmini-g2-ghpc-0"
Run = Callable[[str], int]


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A node in a folder whose last apply was `aa11`."""
    cluster = cluster_at(INVENTORY / "gcp-slurm")
    text = next(file.text for file in files_of(cluster, cluster.nodes[NODE], "elastic") if file.path == CHECK)
    for path, name in ((STAMP, "stamp"), (APPLY_LOCK, "lock"), ("/var/spool/slurmd/conf-cache/slurm.conf", "conf")):
        assert path in text
        text = text.replace(path, str(tmp_path / name))
    (tmp_path / "check").write_text(text.replace("PATH=/usr", f"PATH={tmp_path}:/usr"))
    (tmp_path / "stamp").write_text("aa11\n")
    (tmp_path / "conf").touch()
    return tmp_path


def starts(node: Path, slurm: str, answers: bool = True) -> tuple[bool, str]:
    """Return whether slurmd may start, and the commands that Slurm got."""
    scontrol = node / "scontrol"
    shown = f"NodeName={NODE} State={slurm}"
    scontrol.write_text(
        f'#!/bin/sh\n[ "$1" = -o ] && {{ echo "{shown}"; exit {int(not answers)}; }}\necho "$*" >> {node}/commands\n'
    )
    scontrol.chmod(0o755)
    (node / "commands").write_text("")
    done = subprocess.run(["sh", str(node / "check")], capture_output=True, check=False)
    return done.returncode == 0, (node / "commands").read_text().strip()


def test_a_node_with_the_current_stamp_starts(node: Path) -> None:
    assert starts(node, "MIXED+CLOUD+POWERING_UP  Comment=x Extra=aa11 ") == (True, "")


def test_an_outdated_node_is_marked_once_and_does_not_start(node: Path) -> None:
    marked = f"update nodename={NODE} state=down reason={STALE}"
    assert starts(node, "MIXED+CLOUD+POWERING_UP Extra=bb22") == (False, marked)
    assert starts(node, f"DOWN+CLOUD+POWERING_UP Reason={STALE} [root@now] Extra=bb22") == (False, "")


def test_during_an_apply_a_node_starts(node: Path) -> None:
    with (node / "lock").open("w") as lock:
        assert starts(node, "MIXED+CLOUD Extra=bb22")[0] is False, "an apply that has ended holds no lock"
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert starts(node, "MIXED+CLOUD Extra=bb22") == (True, "")


def test_without_a_controller_the_check_fails_and_is_repeated(node: Path) -> None:
    assert starts(node, "", answers=False) == (False, "")


@pytest.mark.parametrize("missing", ["stamp", "conf"])
def test_a_node_without_a_stamp_starts(node: Path, missing: str) -> None:
    (node / missing).unlink()
    assert starts(node, "MIXED+CLOUD Extra=bb22") == (True, "")


def test_a_node_without_a_stamp_in_slurm_starts(node: Path) -> None:
    assert starts(node, "IDLE+CLOUD ") == (True, "")
