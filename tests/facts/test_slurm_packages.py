"""A look at Slurm's packages while an upgrade that was killed goes on, between stand-ins for apt and dpkg."""

import os
import stat
import subprocess
from pathlib import Path

from gpupool.facts.script import END
from gpupool.facts.slurm_packages import Slurm, SlurmPackages

#: It refuses as long as somebody is at work, and waits for the end of that before it checks anything.
APT_GET = """
cd "$DPKG_ADMINDIR"
case " $* " in
  *" check "*) echo >> waited; [ ! -e at-work ] || echo done >> status;;
  *" -s "*) grep -q done status && echo "Inst slurmd [24.11.5-4] (26.05.5-1 Debian:sid [amd64])" && exit
    echo "E: Unable to correct problems, you have held broken packages."; exit 100;;
esac
"""
STAND_INS = {
    "apt-get": APT_GET,
    "apt-cache": 'echo " slurmd | 26.05.5-1 | a mirror sid/main amd64 Packages"',
    "apt-mark": ":",
    "dpkg": ":",
    "dpkg-query": r"printf 'ii \tslurm-wlm\tslurmd\t24.11.5-4\n'",
    "systemctl": "echo not-found",
}


def looked(folder: Path) -> SlurmPackages:
    programs = folder / "bin"
    programs.mkdir()
    for name, text in STAND_INS.items():
        (programs / name).write_text(f"#!/bin/sh\n{text.strip()}\n")
        (programs / name).chmod(stat.S_IRWXU)
    (folder / "status").write_text("begun\n")
    environ = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "DPKG_ADMINDIR": str(folder)}
    command = str(Slurm().command("26.05").get_raw_value())
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True, env=environ)
    assert done.stdout.splitlines()[-1] == END
    return Slurm().process(done.stdout.splitlines())


def test_what_is_refused_while_apt_is_at_work_is_looked_at_again_when_it_is_done(tmp_path: Path) -> None:
    (tmp_path / "at-work").touch()
    state = looked(tmp_path)
    assert state.refused == ()
    assert state.replaced == {"slurmd": ("24.11.5-4", "26.05.5-1")}
    assert (tmp_path / "waited").read_text().count("\n") == 1


def test_what_apt_refuses_at_rest_stays_refused(tmp_path: Path) -> None:
    state = looked(tmp_path)
    assert state.refused == ("Unable to correct problems, you have held broken packages.",)
    assert state.installed == {"slurmd": "24.11.5-4"}
    assert (tmp_path / "waited").read_text().count("\n") == 1
