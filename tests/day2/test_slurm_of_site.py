"""`slurm.packages: site`: a node with Slurm in /opt/slurm, started by its own units, without a package of Slurm."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpupool.target import find_target
from tests.testbed.cluster import ROOT, docker, gpupool

NETWORK, ADDRESS = "10.193.0.0/16", "10.193.1.1"
NODE = """schema: 1
cluster: {name: siteown, domain: siteown.example, network: NETWORK}
hardware: {box: {cpus: 2, memory: 4G}}
nodes: [{name: ctl, address: ADDRESS, roles: [controller, database, compute], hardware: box}]
qos: {normal: {default: true}}
accounts: [{name: red, kind: group, gid: 5001}]
partitions: [{name: all, nodes: "@compute", max_time: 2d}]
scheduler: {default_partition: all}
access: {keys: homes}
testbed: {nodes: ctl}
"""
#: The paths that gpupool may change: the folder of slurm.conf, and four files in it.
OWN = {f"/opt/slurm/etc{name}" for name in ("", "/slurm.conf", "/gres.conf", "/cgroup.conf", "/plugstack.conf")}
TREE = r"find /etc /opt /usr -xdev -printf '%p\t%m %u %g %s %T@ %l\n' | sort"
UNITS = "systemctl show -P InvocationID -P UnitFileState -P ActiveState slurmctld slurmd slurmdbd munge mariadb ssh"
SLURM = "export PATH=/opt/slurm/bin:$PATH SLURM_CONF=/opt/slurm/etc/slurm.conf; "


class Site:
    """The node of the site, and gpupool with an admin's home that knows its key."""

    def __init__(self, container: str, home: Path, inventory: Path) -> None:
        self.container, self.home, self.inventory = container, home, inventory

    def out(self, command: str) -> str:
        return docker("exec", self.container, "sh", "-c", SLURM + command)

    def gpupool(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "HOME": str(self.home)}
        words = ["timeout", "300", "python3", "-m", "gpupool", *map(str, arguments)]
        return subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)

    def apply(self) -> str:
        done = self.gpupool("apply", self.inventory, "--on", "nodes", "--yes")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def tree(self) -> dict[str, str]:
        """Return each path below /etc, /opt and /usr with its mode, owner, size and time."""
        return dict(line.split("\t", 1) for line in self.out(TREE).splitlines())

    def change(self, file: str, old: str, new: str) -> None:
        path = self.inventory / file
        text = path.read_text()
        assert old in text, text
        path.write_text(text.replace(old, new))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A cluster that gpupool has never seen: containers of a testbed that is not deployed."""
    bed, home = tmp_path_factory.mktemp("bed") / "site", tmp_path_factory.mktemp("home")
    bed.mkdir()
    (bed / "inventory.yml").write_text(NODE.replace("NETWORK", NETWORK).replace("ADDRESS", ADDRESS))
    try:
        done = gpupool("testbed", "up", bed, "--network", NETWORK, "--yes")
        assert done.returncode == 0, done.stderr
        state = find_target(bed, "testbed").testbed
        assert state
        container = f"{state.id}-ctl"
        script = Path(__file__).with_name("slurm_of_site.sh").read_text()
        docker("exec", container, "sh", "-c", script, "sh", "ctl", ADDRESS)
        (home / ".ssh").mkdir()
        (home / ".ssh" / "known_hosts").write_text(Path(state.known_hosts).read_text())
        config = f"Host *\n  IdentityFile {state.key}\n  UserKnownHostsFile {home}/.ssh/known_hosts\n"
        (home / ".ssh" / "config").write_text(config)
        yield Site(container, home, home / "adopted")
    finally:
        gpupool("testbed", "down", bed)


def test_a_slurm_in_opt_is_adopted_and_an_apply_changes_slurms_files_and_nothing_else(site: Site) -> None:
    done = site.gpupool("adopt", "--from", f"root@{ADDRESS}", site.inventory)
    assert done.returncode in (0, 3), done.stdout + done.stderr
    slurm = (site.inventory / "slurm.yml").read_text()
    assert re.search(r"packages: site\b", slurm)
    assert re.search(r"prefix: /opt/slurm\b", slurm)
    assert "etc:" not in slurm
    site.change("nodes.yml", ", managed: false", "")
    site.out("runuser -u ann -- /opt/slurm/bin/sbatch -A red -o /dev/null -D / --wrap 'sleep 3000'")
    site.out("until squeue -h -t R | grep -q .; do sleep 0.2; done")
    job, packages, tree = site.out("squeue -h"), site.out("dpkg-query -W"), site.tree()

    first = site.apply()
    assert "Slurm configuration | /opt/slurm/etc/slurm.conf" in first
    after = site.tree()
    assert {path for path in tree.keys() | after if tree.get(path) != after.get(path)} <= OWN
    assert "Written by gpupool" in site.out("head -n 1 /opt/slurm/etc/slurm.conf")
    assert site.out("dpkg-query -W") == packages
    assert "slurm" not in packages

    again = site.apply()
    assert "nothing to change" in again
    units = site.out(UNITS)
    site.change("partitions.yml", 'max_time: "2d"', 'max_time: "3d"')
    assert "slurm.conf" in site.apply()
    changed = site.tree()
    assert {path for path in after if after[path] != changed[path]} <= {"/opt/slurm/etc", "/opt/slurm/etc/slurm.conf"}
    assert after.keys() == changed.keys()
    assert site.out("scontrol show partition all").count("MaxTime=3-00:00:00") == 1
    assert site.out(UNITS) == units, "a reconfigure restarts no daemon"
    assert site.out("squeue -h -o '%i %t'") == f"{job.split()[0]} R"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("prefix: /opt/slurm", "prefix: /opt/other", "there is no Slurm in /opt/other"),
        ("packages: site", "etc: /srv/empty, packages: site", "there is no /srv/empty/slurm.conf"),
        ("packages: site", "etc: /srv/old, packages: site", "slurmctld reads /opt/slurm/etc/slurm.conf"),
    ],
)
def test_another_folder_than_the_sites_is_refused_before_any_change(site: Site, old: str, new: str, why: str) -> None:
    site.out("mkdir -p /srv/old; cp /opt/slurm/etc/*.conf /srv/old/")
    before = site.tree()
    slurm = (site.inventory / "slurm.yml").read_text()
    entry = new if "{packages" in slurm else new.replace(", ", "\n  ")
    try:
        site.change("slurm.yml", old, entry)
        done = site.gpupool("apply", site.inventory, "--on", "nodes", "--yes")
    finally:
        (site.inventory / "slurm.yml").write_text(slurm)
    assert done.returncode == 1
    assert why in done.stdout + done.stderr
    assert site.tree() == before


def test_no_upgrade_of_slurm_is_begun(site: Site) -> None:
    done = site.gpupool("upgrade", site.inventory, "--on", "nodes", "--yes")
    assert done.returncode == 2
    assert "gpupool upgrades no Slurm with slurm.packages: site" in done.stderr
