"""Files on nodes for a directory of users, and settings that are not in them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from inventories import SMALL, changed, cluster_at

from gpupool.cluster.load import examine
from gpupool.cluster.model import Cluster
from gpupool.compile import files_of
from gpupool.compile.slurm.accounting import entities
from gpupool.compile.system.directory import KEYS, PASSWORD, SETTINGS
from gpupool.compile.system.members import roster_for
from gpupool.compile.system.packages import packages_for

RED = "{name: red, kind: lab, gid: 5001, contributed_gpus: 10}"
DIRECTORY = (
    'directory: {servers: ["ldaps://l1.example.org", "ldaps://l2.example.org"], base: "dc=example,dc=org", '
    'bind_dn: "cn=reader,dc=example,dc=org", ids: 30000-39999}\n'
)


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    of_red = (RED, RED.replace("}", ", members_from: lab-red}"))
    return changed(SMALL, tmp_path, of_red, ("qos:", f"{DIRECTORY}qos:"))


def settings(cluster: Cluster, node: str = "ctl") -> dict[str, str]:
    text = next(file.text for file in files_of(cluster, cluster.nodes[node], "directory") if file.path == SETTINGS)
    pairs = (line.split(" = ", 1) for line in text.splitlines() if " = " in line)
    return dict(pair for pair in pairs if len(pair) == 2)


def test_without_a_directory_a_node_has_no_files_for_it() -> None:
    cluster = cluster_at(SMALL)
    for node in cluster.nodes.values():
        assert files_of(cluster, node, "directory") == []
        assert not {name for name in packages_for(cluster, node) if "sss" in name}
    assert roster_for(cluster) is None


def test_every_node_asks_the_directory(cluster: Cluster) -> None:
    for node in cluster.nodes.values():
        client = {"libnss-sss", "libpam-sss", "sssd-dbus", "sssd-ldap", "sssd-tools"}
        assert client == {name for name in packages_for(cluster, node) if "sss" in name}
        values = settings(cluster, node.name)
        assert values["ldap_uri"] == "ldaps://l1.example.org, ldaps://l2.example.org"
        assert (values["min_id"], values["max_id"]) == ("30000", "39999")


def test_only_members_of_the_accounts_groups_log_in(cluster: Cluster) -> None:
    values = settings(cluster)
    assert (values["access_provider"], values["simple_allow_groups"]) == ("simple", "lab-red")


def test_names_of_the_cluster_are_never_looked_up_in_the_directory(cluster: Cluster) -> None:
    values = settings(cluster)
    daemons = {"daemon", "munge", "mysql", "nobody", "slurm", "sshd", "systemd-network", "www-data"}
    assert set(values["filter_users"].split(", ")) == {"root", "ann"} | daemons
    trusted = {"adm", "admin", "disk", "docker", "kvm", "lxd", "render", "root", "shadow", "sudo", "video", "wheel"}
    assert set(values["filter_groups"].split(", ")) == {"people", "red", "blue"} | trusted


def test_no_password_is_in_any_file_and_no_other_user_reads_the_settings(cluster: Cluster) -> None:
    files = files_of(cluster, cluster.nodes["ctl"], "directory")
    assert PASSWORD not in [file.path for file in files]
    assert not re.search(r"^ldap_default_authtok *=", "".join(file.text for file in files), re.MULTILINE)
    assert next(file.mode for file in files if file.path == SETTINGS) in ("0600", "0640")


def test_start_tls_is_used_where_the_servers_are_not_ldaps(tmp_path: Path) -> None:
    for scheme, wanted in (("ldap", "true"), ("ldaps", "false")):
        text = DIRECTORY.replace("ldaps://", f"{scheme}://")
        cluster = changed(SMALL, tmp_path / scheme, ("qos:", f"{text}qos:"))
        assert settings(cluster)["ldap_id_use_start_tls"] == wanted
        assert settings(cluster)["ldap_tls_reqcert"] == "demand"


def test_a_percent_sign_in_the_path_of_homes_is_escaped(tmp_path: Path) -> None:
    home = f'storage: {{home: {{path: "/ho%u/{{user}}"}}}}\n{DIRECTORY}qos:'
    assert settings(changed(SMALL, tmp_path, ("qos:", home)))["override_homedir"] == "/ho%%u/%u"


def test_a_member_has_the_associations_of_a_listed_user_of_the_account(cluster: Cluster) -> None:
    roster = roster_for(cluster)
    assert roster is not None
    assert roster.groups == {"red": "lab-red"}
    assert roster.listed == {"ann"}
    assert roster.users["red"] == entities(cluster)["users"]["ann"]


def test_slurms_daemons_wait_for_the_names_of_users(cluster: Cluster) -> None:
    for role, node in (("controller", "ctl"), ("compute", "gpu-1")):
        texts = [
            file.text for file in files_of(cluster, cluster.nodes[node], role) if file.path.endswith("d/gpupool.conf")
        ]
        assert any("After=munge.service sssd.service\n" in text for text in texts), role


def test_keys_of_users_of_the_node_are_not_looked_up(cluster: Cluster, tmp_path: Path) -> None:
    files = {file.path: file for file in files_of(cluster, cluster.nodes["ctl"], "directory")}
    program = tmp_path / "keys"
    program.write_text(files[KEYS].text)
    asked = tmp_path / "sss_ssh_authorizedkeys"
    asked.write_text('#!/bin/sh\necho "key of $1"\n')
    asked.chmod(0o755)
    path = f"{tmp_path}:{Path(shutil.which('getent') or '/usr/bin/getent').parent}"
    outputs = [
        subprocess.run(["sh", program, name], env={"PATH": path}, capture_output=True, text=True, check=True).stdout
        for name in ("root", "u-unknown1")
    ]
    assert outputs == ["", "key of u-unknown1\n"]


@pytest.mark.parametrize("text", ["-----BEGIN PRIVATE " + "KEY-----\nx\n", "hello\n"])
def test_a_file_that_is_not_a_certificate_is_refused(text: str, tmp_path: Path) -> None:
    inventory = tmp_path / "it"
    changed(SMALL, inventory, ("qos:", f"{DIRECTORY}qos:"))
    (inventory / "certificates").mkdir()
    (inventory / "certificates" / "ca.pem").write_text(text)
    file = inventory / "inventory.yml"
    file.write_text(file.read_text().replace("ids: 30000", "tls_ca: ca.pem, ids: 30000"))
    (error,) = examine(inventory).errors
    assert "certificates/ca.pem contains" in str(error)
