"""Logins with the login shells, locale, start-up files and sudo of a real machine, on port 2222 behind two jumps."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pace import until

from gpupool.remote.command import NO_SUDO, SUDO_REFUSES, output_of, remote_command
from gpupool.testbed import dockerd, image
from tests.testbed.cluster import ROOT, docker

PREFIX = os.environ.get("GPUPOOL_TESTBED_PREFIX", "gpupool-test")
#: Users of the machine and their login shells; u-lab3's sudo asks for a password.
SHELLS = {"root": "tcsh", "toor": "fish", "u-lab1": "fish", "u-lab2": "tcsh", "u-lab3": "bash"}
ROOTS = [user for user in SHELLS if user != "u-lab3"]

#: $1 is a public key; the other arguments are users, each with a colon and a login shell.
PREPARE = r"""
set -eu
key=$1; shift
localedef -i de_DE -f UTF-8 de_DE.UTF-8
mkdir -p /run/sshd
ssh-keygen -A >/dev/null
for entry; do
  user=${entry%:*} shell=$(command -v "${entry#*:}")
  case $user in
    root) usermod -s "$shell" root ;;
    toor) useradd -o -u 0 -m -s "$shell" -p '*' toor ;;
    *) useradd -m -s "$shell" -p '*' "$user" ;;
  esac
  home=$(getent passwd "$user" | cut -d: -f6)
  mkdir -p "$home/.ssh" "$home/.config/fish"
  echo "$key" >"$home/.ssh/authorized_keys"
  for file in .bashrc .cshrc .config/fish/config.fish; do echo 'echo welcome' >"$home/$file"; done
  chown -R "$user:" "$home"
  chmod 700 "$home/.ssh"
done
for user in u-lab1 u-lab2; do echo "$user ALL=(ALL) NOPASSWD: ALL"; done >/etc/sudoers.d/admins
echo 'u-lab3 ALL=(ALL) ALL' >>/etc/sudoers.d/admins
exec /usr/sbin/sshd -D -o UsePAM=no -o Port=22 -o Port=2222 -o SetEnv='LANG=de_DE.UTF-8 LANGUAGE=de LC_ALL=de_DE.UTF-8'
"""

#: Runs a plan or an apply as each user ($2) with an OpenSSH configuration ($1); prints the failures and the output
#: read.
ENGINE = r"""
import io, json, sys
from gpupool.engine.drive import NodeHost, run
from gpupool.engine.report import Origin
from gpupool.facts.script import ask
from pyinfra import host
from pyinfra.api import FactBase
from pyinfra.operations import files, server

config, users, execute = sys.argv[1], sys.argv[2].split(), sys.argv[3] == "apply"
read = {}

class Look(FactBase):
    def command(self):
        return ask("id -u; echo \"it's! \\ $LC_ALL\"; ls /missing 2>&1")
    def process(self, output):
        return list(output)

def work():
    read[host.name] = host.get_fact(Look)
    files.put(name="put", src=io.StringIO(host.name), dest=f"/root/put-{host.name}", mode="600")
    server.shell(name="work", commands=[f"echo \"$(id -u)\" > /root/work-{host.name}"])

hosts = [NodeHost(user, (), {"ssh_hostname": user, "ssh_command": ["ssh", "-F", config, user]}) for user in users]
failures = {}
for one in hosts:  # they are one machine, which has one lock
    report = run([one], work, execute=execute, origin=Origin("apply", "one", "u-lab1") if execute else None)
    failures |= report.failures
print(json.dumps({"failures": failures, "read": read}))
"""


@dataclass(frozen=True)
class Machine:
    """A container with these users, and the OpenSSH configuration to reach it."""

    name: str
    config: Path

    def engine(self, users: list[str], act: str) -> tuple[dict[str, str], dict[str, list[str]]]:
        """Return the failures of a plan or an apply as each user, and the output that was read."""
        command = [sys.executable, "-c", ENGINE, str(self.config), " ".join(users), act]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        answer = json.loads(done.stdout.splitlines()[-1])
        return answer["failures"], answer["read"]

    def ssh(self, user: str, script: str, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        """Run a script over ssh as the other commands of gpupool do."""
        command = ["ssh", "-F", self.config, user, remote_command(script)]
        return subprocess.run(command, input=stdin, capture_output=True, check=False)

    def out(self, *command: str) -> str:
        return docker("exec", self.name, *command)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    dockerd.ensure()
    folder, name = tmp_path_factory.mktemp("logins"), f"{PREFIX}-logins"
    packages = frozenset({"munge", "slurm-client", "tcsh", "fish", "sudo", "locales"})
    tag = image.ensure("trixie", [packages], print)[packages]
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "key"], check=True)
    subprocess.run(["docker", "rm", "--force", name], capture_output=True, check=False)  # left by a run that was killed
    entries = [f"{user}:{shell}" for user, shell in SHELLS.items()]
    key = (folder / "key.pub").read_text().strip()
    docker("run", "--detach", "--name", name, "--entrypoint", "/bin/sh", tag, "-c", PREPARE, "sh", key, *entries)
    try:
        address = docker("inspect", "--format", "{{.NetworkSettings.IPAddress}}", name)
        scan = ["ssh-keyscan", "-t", "ed25519", "-p", "2222", address]
        until(lambda: bool(subprocess.run(scan, capture_output=True, check=False).stdout), "sshd answers")
        public = docker("exec", name, "cat", "/etc/ssh/ssh_host_ed25519_key.pub")
        known = folder / "known_hosts"
        known.write_text(f"{address} {public}\n[{address}]:2222 {public}\n")
        common = f"Host *\n  HostName {address}\n  IdentityFile {folder}/key\n  UserKnownHostsFile {known}\n"
        common += "  BatchMode yes\n  StrictHostKeyChecking yes\n"
        jumps = "Host outer inner\n  User u-lab1\nHost inner\n  ProxyJump outer\n"
        users = "".join(f"Host {user}\n  User {user}\n  Port 2222\n  ProxyJump inner\n" for user in SHELLS)
        (folder / "config").write_text(jumps + users + common)
        yield Machine(name, folder / "config")
    finally:
        docker("rm", "--force", "--volumes", name)


def test_plan_and_apply_are_root_with_any_shell_and_locale(machine: Machine) -> None:
    for act in ("plan", "apply"):
        failures, read = machine.engine(ROOTS, act)
        assert failures == {}
        for user in ROOTS:
            assert read[user][:2] == ["0", "it's! \\ C.UTF-8"]
            assert "No such file or directory" in read[user][2], "the node's language is not German here"
    for user in ROOTS:
        assert machine.out("cat", f"/root/put-{user}", f"/root/work-{user}") == f"{user}0"
        assert machine.out("stat", "-c", "%a %U", f"/root/put-{user}") == "600 root"
    assert machine.out("sh", "-c", "wc -l </var/log/gpupool/applies.jsonl") == str(2 * len(ROOTS))


def test_other_commands_are_root_with_any_shell_and_locale(machine: Machine) -> None:
    for user in ROOTS:
        done = machine.ssh(user, "id -u; cat; ls /missing >&2; exit 7", b"in\0\xff!\n")
        assert (done.returncode, output_of(done.stdout)) == (7, b"0\nin\0\xff!\n")
        assert b"No such file or directory" in done.stderr


def test_a_user_whose_sudo_asks_for_a_password_is_named_before_any_change(machine: Machine) -> None:
    for act in ("plan", "apply"):
        failures, read = machine.engine(["u-lab3"], act)
        assert failures["u-lab3"].startswith("sudo does not let u-lab3 become root without a password (add `u-lab3")
        assert read == {}
    assert machine.ssh("u-lab3", "true").returncode == SUDO_REFUSES


def test_a_machine_without_sudo_is_named_before_any_change(machine: Machine) -> None:
    machine.out("mv", "/usr/bin/sudo", "/usr/bin/sudo.away")
    try:
        failures, _ = machine.engine(["root", "u-lab1"], "apply")
        assert machine.ssh("u-lab1", "true").returncode == NO_SUDO
    finally:
        machine.out("mv", "/usr/bin/sudo.away", "/usr/bin/sudo")
    assert list(failures) == ["u-lab1"]
    assert failures["u-lab1"].startswith("u-lab1 is not root, and the node has no sudo (install sudo")
