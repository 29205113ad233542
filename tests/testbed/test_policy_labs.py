"""Labs and their members on live nodes: logins, and which lab owns which GPUs (sections B and M of the promises)."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pace import until

from tests.testbed.cluster import Changed, Testbed

USER = "u-rehg1"
PASSWORD = "correct horse battery"
MACHINES = ("sky1", "sky2", "clippy", "multivac")  # heads, a compute node, a fileserver


@pytest.mark.promise("SKY-028", "SKY-037")
def test_every_lab_gets_every_type_of_gpu(idle: Testbed) -> None:
    users = {user.account: user.name for user in idle.cluster.users.values()}
    kinds = list(idle.cluster.gpu_types)
    asked = {
        idle.submit(user, f"-p {lab} --gpus={kind}:1", "true"): (lab, kind)
        for lab, user in users.items()
        for kind in kinds
        if idle.cluster.accounts[lab].entry.kind == "lab"
    }
    assert len(asked) == 14 * 4
    until(lambda: not idle.out("marvin", "squeue -h"), "all jobs have ended")
    look = f"sacct -nXP -j {','.join(asked)} -o jobid,state,nodelist"
    ended = until(lambda: [row for row in idle.out("marvin", look).splitlines() if "COMPLETED" in row], "sacct knows")
    assert len(ended) == len(asked)
    for row in ended:
        job, _, node = row.split("|")
        assert asked[job][1] in idle.cluster.nodes[node].gpus, f"{asked[job]} on {node}"


@pytest.fixture
def password(idle: Testbed) -> Iterator[str]:
    """Set a password of a user on some machines, as the university's directory would, and remove it afterwards."""
    for node in MACHINES:
        idle.out(node, "chpasswd", text=f"{USER}:{PASSWORD}\n")
    idle.out("sky1", "cp -p .ssh/authorized_keys .ssh/before", USER)
    yield PASSWORD
    for node in MACHINES:
        idle.out(node, f"usermod -p '!' {USER}")
    idle.out("sky1", "mv .ssh/before .ssh/authorized_keys", USER)


def client(idle: Testbed, tmp_path: Path, command: list[str], **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command of OpenSSH's client as on the user's own machine: without any key that the testbed knows."""
    ask = tmp_path / "ask"
    ask.write_text(f"#!/bin/sh\necho '{PASSWORD}'\n")
    ask.chmod(0o700)
    env = {**os.environ, "SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force", "HOME": str(tmp_path), **more}
    env.pop("SSH_AUTH_SOCK", None)
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def options(idle: Testbed, *more: str) -> list[str]:
    known = idle.target.ssh["ssh_known_hosts_file"]
    words = ["StrictHostKeyChecking=yes", f"UserKnownHostsFile={known}", *more]
    return ["-F", "none", *(part for word in words for part in ("-o", word))]


@pytest.mark.promise("SKY-039", "SKY-040")
def test_a_password_is_accepted_by_all_machines_and_a_key_replaces_it(
    idle: Testbed, password: str, tmp_path: Path
) -> None:
    at = {node: f"{USER}@{idle.cluster.nodes[node].address}" for node in MACHINES}
    for node in MACHINES:
        finished = client(idle, tmp_path, ["ssh", *options(idle, "PubkeyAuthentication=no"), at[node], "hostname"])
        assert finished.stdout.strip() == node, finished.stderr

    key = tmp_path / "id"
    keygen = ["ssh-keygen", "-t", "rsa", "-b", "4096", "-o", "-a", "100", "-q", "-N", "", "-f", str(key)]
    done = client(idle, tmp_path, keygen)
    assert done.returncode == 0, done.stderr
    (tmp_path / ".ssh").mkdir()
    batch = ["ssh", *options(idle, "BatchMode=yes"), "-i", str(key)]
    assert client(idle, tmp_path, [*batch, at["sky1"], "true"]).returncode
    done = client(idle, tmp_path, ["ssh-copy-id", "-i", str(key), *options(idle)[2:], at["sky1"]])
    assert done.returncode == 0, done.stderr
    for node in ("sky1", "clippy"):  # the home is shared
        finished = client(idle, tmp_path, [*batch, at[node], "hostname"])
        assert finished.stdout.strip() == node, finished.stderr


@pytest.fixture
def own_key(idle: Testbed) -> Iterator[str]:
    """Add a user's own key to the shared home, and remove it afterwards."""
    make = "cp -p .ssh/authorized_keys .ssh/before && ssh-keygen -q -t ed25519 -N '' -f .ssh/of-a-test"
    idle.out("sky1", f"{make} && cat .ssh/of-a-test.pub >> .ssh/authorized_keys", USER)
    yield ".ssh/of-a-test"
    idle.out("sky1", "mv .ssh/before .ssh/authorized_keys; rm .ssh/of-a-test .ssh/of-a-test.pub", USER)


def test_ssh_from_a_head_to_another_node_asks_about_no_host_key(idle: Testbed, own_key: str) -> None:
    strict = "-o BatchMode=yes -o StrictHostKeyChecking=yes -o UserKnownHostsFile=/dev/null"
    for node in ("clippy", "sky2"):
        there = idle.cluster.nodes[node]
        for name in (there.name, there.fqdn, there.address):
            assert idle.out("sky1", f"ssh -n -i {own_key} {strict} {name} hostname", USER) == node


@pytest.mark.promise("SKY-041")
def test_a_user_who_joins_a_lab_may_submit_after_the_next_apply(idle: Testbed, changed: Changed) -> None:
    (line,) = [
        line for line in (idle.inventory / "labs.yml").read_text().splitlines(keepends=True) if f"name: {USER}," in line
    ]
    without = changed("labs.yml", line, "")
    assert without.apply().returncode == 0
    assert idle.run("sky1", "sbatch --wrap true", USER).returncode == 255, "the login is refused"
    assert idle.apply().returncode == 0
    assert "Submitted batch job" in idle.out("sky1", "sbatch -o /dev/null --wrap true", USER)


@pytest.mark.promise("SKY-191")
def test_two_labs_name_one_export(idle: Testbed) -> None:
    for space in ("share", "share2", "scratch"):
        idle.out("sky1", f"echo seen > /srv/cvmlp-lab/{space}/note")
        assert idle.out("clippy", f"cat /srv/hays-lab/{space}/note; rm /srv/hays-lab/{space}/note") == "seen"
