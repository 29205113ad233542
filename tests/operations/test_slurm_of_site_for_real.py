"""The question for the site's own Slurm, run by a real shell on folders with stand-ins."""

import subprocess
from pathlib import Path

import pytest
import stand_ins

from gpupool.facts.slurm_of_site import SiteSlurm, SlurmOfSite


def asked(prefix: Path, conf: Path) -> SlurmOfSite | None:
    command = SiteSlurm().command(str(prefix), str(conf)).get_raw_value()
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    return SiteSlurm().process(done.stdout.splitlines())


def test_a_folder_without_slurm_is_an_answer(tmp_path: Path) -> None:
    assert asked(tmp_path, tmp_path / "slurm.conf") == SlurmOfSite()


@pytest.mark.parametrize("daemon", ["slurmctld", "slurmdbd"])
def test_the_release_is_the_daemons_because_commands_need_a_slurm_conf_for_it(daemon: str, tmp_path: Path) -> None:
    stand_ins.put({daemon: "echo slurm 24.11.5"}, tmp_path / "sbin")
    stand_ins.put({"scontrol": "exit 1"}, tmp_path / "bin")
    assert asked(tmp_path, tmp_path / "slurm.conf") == SlurmOfSite("24.11.5")


def test_another_slurm_conf_that_slurmctld_reads_is_named_and_a_link_to_it_is_none(tmp_path: Path) -> None:
    own, other, link = (tmp_path / name for name in ("own.conf", "other.conf", "link.conf"))
    own.touch()
    other.touch()
    link.symlink_to(own)
    stand_ins.put({"slurmctld": "echo slurm 24.11.5"}, tmp_path / "sbin")
    stand_ins.put({"scontrol": f"echo 'SLURM_CONF              = {own}'"}, tmp_path / "bin")
    assert asked(tmp_path, own) == asked(tmp_path, link) == SlurmOfSite("24.11.5", has_conf=True)
    assert asked(tmp_path, other) == SlurmOfSite("24.11.5", has_conf=True, reads=str(own))
