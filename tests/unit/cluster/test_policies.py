"""Policies that would end or refuse more than an admin can mean are complained of."""

from pathlib import Path

import inventories
import pytest

from gpupool.cluster.load import examine

SKYNET = inventories.INVENTORY / "skynet"
ROW = 'job: reaper, every: 10m, where: "@compute"'
WRONG = {
    "a reaper on a head": ((ROW, 'job: reaper, every: 10m, where: "@compute,sky1"'), "sky1 is a head"),
    "a reaper on a fileserver": ((ROW, "job: reaper, every: 10m, where: multivac"), "multivac is no compute node"),
    "a reaper when a job ends": ((ROW, 'job: reaper, when: job-end, where: "@compute"'), "at intervals only"),
    "no grace": (("grace: 30m", "grace: 5s"), "policies.reaper.grace: too short"),
    "no memory": (("memory_per_user: 16G", "memory_per_user: 16M"), "16M is not enough to log in"),
    "no CPU": (("cpu_per_user: 200%", "cpu_per_user: 0%"), "cpu_per_user"),
    "more files than the kernel has": (("nofile: 65536", "nofile: 2000000"), "nofile"),
}


def complaints(folder: Path, *replaced: tuple[str, str]) -> str:
    return "\n".join(map(str, examine(inventories.copied(SKYNET, folder, *replaced)).complaints))


@pytest.mark.parametrize("name", WRONG)
def test_it_is_complained_of(name: str, tmp_path: Path) -> None:
    replaced, why = WRONG[name]
    assert why not in complaints(tmp_path / "right")
    assert why in complaints(tmp_path / "wrong", replaced)


def test_a_timer_without_its_policy_is_complained_of(tmp_path: Path) -> None:
    policy = "  reaper: {grace: 30m, spare_users: [root, slurm], spare_docker_of_jobs: true, "
    rest = 'src: "L236 L376 L448", inferred: [grace, spare_users]}\n'
    assert "there is no policies.reaper" in complaints(tmp_path, (policy + rest, ""))


def test_homes_have_one_mode(tmp_path: Path) -> None:
    mode = ("nofile: 65536", 'nofile: 65536\n  home_mode: "0750"')
    homes = ('home: {path: "/nethome/{user}", ', 'home: {path: "/nethome/{user}", mode: "0700", ')
    assert "contradicts" not in complaints(tmp_path / "one", mode)
    assert "home_mode: 0750 contradicts storage.home.mode 0700" in complaints(tmp_path / "two", mode, homes)
