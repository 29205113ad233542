"""Slurm's packages are read while a killed upgrade still runs, with fake apt and dpkg."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
import stand_ins
from pace import until

from gpupool.facts.packages import LOCK
from gpupool.facts.script import END
from gpupool.facts.slurm_packages import Slurm, SlurmPackages

STAND_INS = {
    # refuses while another process works
    "apt-get": """
case " $* " in *" -s "*) ;; *) exit;; esac
if [ -e "$STATE/begun" ]; then
  touch "$STATE/looked"; echo "E: Unable to correct problems, you have held broken packages."; exit 100
fi
echo "Inst slurmd [24.11.5-4] (26.05.5-1 Debian:sid [amd64])"
""",
    "apt-cache": 'echo " slurmd | 26.05.5-1 | a mirror sid/main amd64 Packages"',
    "apt-mark": ":",
    "dpkg": ":",
    "dpkg-query": r"printf 'ii \tslurm-wlm\tslurmd\t24.11.5-4\n'",
    "flock": f'touch "$STATE/waits"; exec {shutil.which("flock")} "$@"',
    "systemctl": "echo not-found",
}


#: A node with SchedMD's packages, and a repository with the next release of them.
OF_SCHEDMD = {
    **STAND_INS,
    "dpkg-query": r"""
printf 'ii \tslurm-smd\tslurm-smd\t24.11.7-1\n'
printf 'ii \tslurm-smd\tslurm-smd-slurmd\t24.11.7-1\n'
printf 'ii \tslurm-tools\tslurm-tools\t1\n'
""",
    "apt-cache": """
shift; for name in "$@"; do echo " $name | 25.11.7-1 | https://packages.example.org trixie/main amd64 Packages"; done
""",
    "apt-get": """
case " $* " in *" -s "*) ;; *) exit;; esac
for name in slurm-smd slurm-smd-slurmd; do echo "Inst $name [24.11.7-1] (25.11.7-1 ours:trixie [amd64])"; done
""",
}


def looked(folder: Path, programs: Mapping[str, str] = STAND_INS, release: str = "26.05") -> SlurmPackages:
    stand_ins.put(programs, folder / "bin")
    environ = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "STATE": str(folder)}
    command = str(Slurm().command(release).get_raw_value()).replace(LOCK, f"{folder}/lock")
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True, env=environ)
    assert done.stdout.splitlines()[-1] == END
    return Slurm().process(done.stdout.splitlines())


@contextmanager
def at_work(folder: Path) -> Iterator[None]:
    """The process of a killed upgrade: it holds the lock, and ends once another waits for it or ignores the lock."""
    script = "touch begun; until [ -e waits ] || [ -e looked ]; do sleep 0.05; done; rm begun"
    with subprocess.Popen(["flock", "lock", "sh", "-c", script], cwd=folder):
        until((folder / "begun").exists, "it has begun")
        yield


def test_the_end_of_a_killed_upgrade_is_waited_for(tmp_path: Path) -> None:
    with at_work(tmp_path):
        state = looked(tmp_path)
    assert state.refused == ()
    assert state.replaced == {"slurmd": ("24.11.5-4", "26.05.5-1")}


@pytest.mark.parametrize("lock", [False, True])
def test_a_refusal_of_an_idle_apt_is_reported(tmp_path: Path, lock: bool) -> None:
    if lock:  # as left by the last installation
        (tmp_path / "lock").touch()
    (tmp_path / "begun").touch()
    state = looked(tmp_path)
    assert state.refused == ("Unable to correct problems, you have held broken packages.",)
    assert state.installed == {"slurmd": "24.11.5-4"}


def test_schedmds_packages_are_those_of_an_upgrade_too(tmp_path: Path) -> None:
    state = looked(tmp_path, OF_SCHEDMD, "25.11")
    assert state.releases == {"slurm-smd": "24.11", "slurm-smd-slurmd": "24.11"}
    assert state.wanted == {"slurm-smd": "25.11.7-1", "slurm-smd-slurmd": "25.11.7-1"}
    assert state.replaced == dict.fromkeys(state.wanted, ("24.11.7-1", "25.11.7-1"))
    assert (state.none, state.removed, state.refused) == ((), {}, ())
