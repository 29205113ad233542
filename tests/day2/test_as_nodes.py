"""Connections to nodes behind two jump hosts, on port 2222, as a user with sudo and fish or tcsh as login shell."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.testbed.cluster import ROOT, Testbed, docker, gpupool, up

NETWORK = "10.188.0.0/16"
SHELLS = {"ctl": "fish", "gpu-1": "tcsh"}
INVENTORY = """schema: 1
cluster: {name: asnodes, domain: asnodes.example, network: 10.90.0.0/16}
gpu_types: {a40: {models: [A40]}}
hardware: {box: {cpus: 16, memory: 64G, gpu_slots: 2, cpus_kept_per_gpu: 4}}
nodes:
  - {name: ctl, address: 10.90.1.1, roles: [head, controller, database]}
  - {name: gpu-1, address: 10.90.2.1, roles: [compute], hardware: box, gpus: {a40: 2}}
access: {keys: homes, admin: {user: u-lab1, port: 2222}}
accounts:
  - {name: red, kind: lab, gid: 5001, contributed_gpus: 1}
  - {name: blue, kind: lab, gid: 5002, contributed_gpus: 1}
users: [{name: ann, uid: 20001, account: red}]
qos: {normal: {default: true}}
partitions: [{name: all, nodes: "@compute", max_time: 2d, default_time: 1h}]
slurm: {backup: {to: /srv/slurm-backup, keep: 2}}
scheduler:
  default_partition: all
  default_memory: {per_gpu: 8G, per_cpu: 1G}
  max_memory: {per_gpu: 16G, per_cpu: 2G}
testbed: {nodes: "ctl,gpu-1"}
"""
#: $1 the login shell, $2 the public key. sshd sets this locale for every login.
PREPARE = r"""
set -eu
install() { apt-get install -qy sudo fish tcsh locales >/dev/null; }
install || { apt-get update -q >/dev/null; install; }
localedef -i de_DE -f UTF-8 de_DE.UTF-8
useradd -m -s "$(command -v "$1")" -p '*' u-lab1
mkdir -m 700 /home/u-lab1/.ssh
echo "$2" >/home/u-lab1/.ssh/authorized_keys
chown -R u-lab1: /home/u-lab1/.ssh
echo 'u-lab1 ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/u-lab1
printf 'Port 22\nPort 2222\nSetEnv LANG=de_DE.UTF-8 LC_ALL=de_DE.UTF-8\n' >/etc/ssh/sshd_config.d/zz-test.conf
systemctl restart ssh
"""


@pytest.fixture(scope="module")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    inventory = tmp_path_factory.mktemp("as-nodes") / "site"
    inventory.mkdir()
    (inventory / "inventory.yml").write_text(INVENTORY)
    try:
        yield up(inventory, NETWORK)
    finally:
        gpupool("testbed", "down", inventory)


@pytest.fixture(scope="module")
def home(testbed: Testbed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an admin's home, whose ~/.ssh/config leads through one node to the other, and from there to both."""
    state = testbed.target.testbed
    assert state
    home = tmp_path_factory.mktemp("home")
    (home / ".ssh").mkdir()
    public = Path(f"{state.key}.pub").read_text().strip()
    addresses = {node.name: str(node.address) for node in testbed.target.nodes}
    known = ""
    for name, shell in SHELLS.items():
        docker("exec", testbed.container(name), "sh", "-c", PREPARE, "sh", shell, public)
        key = docker("exec", testbed.container(name), "cat", "/etc/ssh/ssh_host_ed25519_key.pub")
        known += f"{addresses[name]} {key}\n[{addresses[name]}]:2222 {key}\n"
    (home / ".ssh" / "known_hosts").write_text(known)
    (home / ".ssh" / "config").write_text(
        f"Host outer\n  HostName {addresses['ctl']}\n  User root\n"
        f"Host inner\n  HostName {addresses['gpu-1']}\n  User root\n  ProxyJump outer\n"
        "Host 10.188.*\n  ProxyJump inner\n"
        f"Host *\n  IdentityFile {state.key}\n  UserKnownHostsFile {home}/.ssh/known_hosts\n"
    )
    (home / ".ssh" / "config").chmod(0o600)
    return home


def test_every_command_reaches_the_nodes(testbed: Testbed, home: Path) -> None:
    keeps = {"XDG_STATE_HOME": os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")}

    def reached(*arguments: str, code: int = 0) -> str:
        command = [sys.executable, "-m", "tests.day2.as_nodes", *arguments, str(testbed.inventory)]
        environment = {**os.environ, **keeps, "HOME": str(home)}
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    assert "2 nodes: nothing to change" in reached("plan")
    testbed.out("gpu-1", "rm /etc/apt/apt.conf.d/90gpupool-reboot")
    assert "2 of 2 nodes match the inventory; 1 change" in reached("apply", "--yes")
    assert "checks on 2 nodes: all pass" in reached("verify")
    assert len(re.findall(r" apply ", reached("log"))) == 2
    testbed.out("gpu-1", "rm /etc/apt/apt.conf.d/90gpupool-reboot")
    assert "gpu-1: done" in reached("maintain", "--nodes", "gpu-1", "--yes")
    testbed.out("ctl", "systemctl start gpupool-backup || { journalctl -o cat -n 20 -u gpupool-backup >&2; false; }")
    assert "the backups can be restored" in reached("restore", "--drill")
