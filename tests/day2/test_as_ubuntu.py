"""A cluster of Debian, Ubuntu and DGX OS with SchedMD's packages, on stand-ins: Debian that looks like Ubuntu.

The inventory is that of tests/unit/compile/schedmd. No node has NVIDIA's driver: DGX OS comes with one.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from inventories import copied
from pace import until
from signed import gpg_home, new_key, publish, served

from gpupool.cluster.load import load
from gpupool.compile.system.packages import packages_for, slurm_for
from gpupool.distributions.slurm import schedmd
from gpupool.shell import shell_file, values
from gpupool.target import find_target
from tests.testbed.cluster import ROOT, docker, gpupool

NETWORK, GATEWAY = "10.197.0.0/16", "10.197.255.254"
MIXED = ROOT / "tests" / "unit" / "compile" / "schedmd"
UBUNTU = Path(__file__).with_name("as_ubuntu.sh").read_text()
PACKAGES = "/srv/schedmds"
#: Makes SchedMD's packages, as for a testbed. apt then forgets them: nodes have them from the inventory's repository.
SCHEDMDS = values(folder=PACKAGES, revision="1", conflicts=" ".join(schedmd().conflicts)) + shell_file(
    "gpupool.testbed", "recipe_schedmd.sh"
)
FORGET = "rm /etc/apt/sources.list.d/slurm-smd.list && apt-get update --quiet >/dev/null"
TESTBED = ("access: {", 'testbed: {nodes: "ctl,login-1,dgx-[1-2]"}\naccess: {')
#: Changes that leave an inventory of Debian with its own Slurm, for which a testbed can start machines.
ON_DEBIAN = (
    (", distribution: dgx-os-7", ""),
    (", distribution: ubuntu-24.04", ""),
    ("  packages: schedmd\n  repository: {debian-13: ours-trixie, default: ours-noble}\n", ""),
)
INSTALLED = "dpkg-query -W -f '${binary:Package} ${Version} ${db:Status-Abbrev}\\n'"


class Site:
    """The nodes, and gpupool with an admin's home that knows their keys."""

    nodes = ("ctl", "login-1", "dgx-1", "dgx-2")

    def __init__(self, inventory: Path, prefix: str, home: Path) -> None:
        self.inventory, self.prefix, self.home = inventory, prefix, home

    def container(self, node: str) -> str:
        return f"{self.prefix}-{node}"

    def out(self, node: str, command: str, *arguments: str, user: str = "root") -> str:
        return docker("exec", "--user", user, self.container(node), "sh", "-c", command, "sh", *arguments)

    def state(self, node: str, unit: str) -> str:
        return self.out(node, 'systemctl is-active "$1" 2>&1 || :', unit)

    def gpupool(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        keeps = {"XDG_STATE_HOME": os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")}
        command = [sys.executable, "-m", "tests.day2.as_nodes", *arguments, str(self.inventory)]
        environment = {**os.environ, **keeps, "HOME": str(self.home)}
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)

    def done(self, *arguments: str) -> str:
        done = self.gpupool(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def installed(self) -> dict[str, str]:
        """Return the packages of each node with version and state."""
        return {node: self.out(node, INSTALLED) for node in self.nodes}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Bare nodes, of which all but the controller look like Ubuntu, and the inventory that has them so."""
    folder, home, top = (tmp_path_factory.mktemp(name) / name for name in ("site", "home", "www"))
    copied(MIXED, folder, TESTBED, *ON_DEBIAN)
    try:
        done = gpupool("testbed", "up", folder, "--bare", "--network", NETWORK, "--yes")
        assert done.returncode == 0, done.stderr
        state = find_target(folder, "testbed").testbed
        assert state
        (home / ".ssh").mkdir(parents=True)
        (home / ".ssh" / "known_hosts").write_text(Path(state.known_hosts).read_text())
        config = f"Host *\n  IdentityFile {state.key}\n  UserKnownHostsFile {home}/.ssh/known_hosts\n"
        (home / ".ssh" / "config").write_text(config)
        made = Site(folder, state.id, home)
        key = publish_schedmds(made, top)
        with served(top, GATEWAY) as url:
            file = copied(MIXED, folder, TESTBED) / "inventory.yml"
            text = file.read_text().replace("https://packages.example.org/slurm", url)
            indented = "".join(f"        {line}\n" for line in key.splitlines())
            file.write_text(re.sub(r" *-----BEGIN(.|\n)*?-----END.*\n", indented, text))
            become_ubuntu(made)
            yield made
    finally:
        gpupool("testbed", "down", folder)


def publish_schedmds(site: Site, top: Path) -> str:
    """Make SchedMD's packages on the controller, publish them for both distributions, and return the key."""
    site.out("ctl", f"{SCHEDMDS}\n{FORGET}")
    docker("cp", "--quiet", f"{site.container('ctl')}:{PACKAGES}", str(top))
    with gpg_home() as home:
        key = new_key(home)
        for suite in ("trixie", "noble"):
            publish(top, home, suite, {"main": (top / "Packages").read_text()}, origin="SchedMD")
        return key


def become_ubuntu(site: Site) -> None:
    """Let nodes look like the inventory's Ubuntu, with an archive that has all names which the tables give."""
    cluster = load(site.inventory)

    def become(name: str) -> None:
        node = cluster.nodes[name]
        if node.system.os_release[0] == "ubuntu":
            names = {*packages_for(cluster, node)} - {*slurm_for(cluster, node)}
            site.out(name, UBUNTU, node.system.name, *sorted(names))

    with ThreadPoolExecutor() as pool:
        list(pool.map(become, site.nodes))


def test_a_node_of_another_system_is_refused_and_no_package_of_any_node_changes(site: Site) -> None:
    before = site.installed()
    site.out("dgx-2", "sed -i.kept 's/noble/jammy/; s/24.04.3/22.04.5/; s/24.04/22.04/' /etc/os-release")
    try:
        done = site.gpupool("apply", "--yes")
    finally:
        site.out("dgx-2", "mv /etc/os-release.kept /etc/os-release")
    assert done.returncode == 1, done.stdout + done.stderr
    (refused,) = (line for line in done.stdout.splitlines() if line.startswith("dgx-2: "))
    assert "the node runs Ubuntu 22.04.5 LTS, but the inventory says DGX OS 7" in refused
    assert "set the node's distribution, or software.distribution, to ubuntu-22.04 or dgx-os-6" in refused
    assert site.installed() == before


def test_bare_nodes_are_deployed_and_a_second_apply_changes_nothing(site: Site) -> None:
    assert "4 of 4 nodes match the inventory" in site.done("apply", "--yes")
    assert "4 of 4 nodes match the inventory; nothing to change" in site.done("apply", "--yes")
    assert "all pass" in site.done("verify")
    for node, packages in site.installed().items():
        of_slurm = {line.split()[0] for line in packages.splitlines() if "slurm" in line}
        assert of_slurm, node
        assert all(name.startswith("slurm-smd") for name in of_slurm), of_slurm


def test_sshd_that_the_socket_starts_has_its_settings_and_is_not_enabled(site: Site) -> None:
    for node in site.nodes[1:]:
        states = "for is in is-enabled is-active; do systemctl $is ssh.socket ssh.service || :; done"
        assert site.out(node, states).split() == ["enabled", "disabled", "active", "active"]
        assert "maxsessions 50" in site.out(node, "sshd -T")


def test_a_job_runs_on_a_stand_in_of_dgx_os(site: Site) -> None:
    job = "srun --gpus=a100:2 sh -c '. /etc/os-release; echo $ID $VERSION_CODENAME $CUDA_VISIBLE_DEVICES'"
    assert site.out("login-1", job, user="ann") == "ubuntu noble 0,1"


def test_after_a_reboot_a_node_still_matches_the_inventory(site: Site) -> None:
    docker("restart", site.container("dgx-1"))
    until(lambda: site.state("dgx-1", "slurmd") == "active", "slurmd runs again", lambda: site.state("dgx-1", "slurmd"))
    assert "nothing to change" in site.done("plan")
