"""SSH and PAM access: by each inventory's keys, by libpam with the rendered stack, and by sshd itself."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pam
import pytest
from inventories import INVENTORY, SMALL, changed, cluster_at

from gpupool.cluster.load import load
from gpupool.cluster.logins import entry
from gpupool.cluster.model import Cluster
from gpupool.compile import files_of
from gpupool.compile.system.access import PAM, SERVICE, forwards_to
from gpupool.compile.system.packages import packages_for
from gpupool.compile.system.ssh import TRUSTED_HOSTS
from gpupool.distributions.tables import distribution

DROP_IN = "/etc/ssh/sshd_config.d/gpupool.conf"
# users of every Debian; each is in a group with the same name
ADMIN, OPERATOR, USER = "games", "daemon", "bin"


def text_of(cluster: Cluster, node: str, path: str) -> str:
    texts = {file.path: file.text for file in files_of(cluster, cluster.nodes[node], "ssh")}
    return texts.get(path, "")


@pytest.mark.promise("SKY-210", "AAU-024", "SDU-031", "GCP-003")
@pytest.mark.parametrize(
    ("inventory", "wanted"),
    [
        ("skynet", {"sky1": "all", "clippy": "all", "vicki": "all", "marvin": "all", "multivac": "all"}),
        ("aau-ai-cloud", {"ai-pilot": "all", "nv-ai-01": "job", "sshgw": "all"}),
        ("gcp-slurm", {"mlmini-controller": "admins", "mlmini-g2-ghpc-0": "job"}),
        ("santos-dumont", {"login": "all", "sdumont-ctl": "admins", "sdumont-fs": "admins", "sdumont4000": "job"}),
        ("example", {"login1": "all", "control": "admins", "files": "admins", "a40-01": "job"}),
    ],
)
def test_each_node_admits_the_users_of_its_key(inventory: str, wanted: dict[str, str]) -> None:
    cluster = load(INVENTORY / inventory)
    assert {name: entry(cluster, cluster.nodes[name]) for name in wanted} == wanted
    for name, who in wanted.items():
        settings = text_of(cluster, name, DROP_IN)
        assert (f"PAMServiceName {SERVICE}" in settings) is (who == "job")
        assert ("DenyUsers *" in settings) is (who == "admins")
        assert bool(text_of(cluster, name, PAM)) is (who == "job")
        assert ("libpam-slurm-adopt" in packages_for(cluster, cluster.nodes[name])) is (who == "job")


def test_the_pam_stack_is_installed_before_sshds_settings() -> None:
    cluster = cluster_at(INVENTORY / "example")
    paths = [file.path for file in files_of(cluster, cluster.nodes["a40-01"], "ssh")]
    assert paths == [PAM, DROP_IN]


@pytest.mark.promise("AAU-015")
def test_a_gateway_forwards_only_to_its_nodes() -> None:
    cluster = cluster_at(INVENTORY / "aau-ai-cloud")
    address = cluster.nodes["ai-pilot"].address
    wanted = ("ai-pilot:22", "ai-pilot.srv.aau.dk:22", f"{address}:22")
    assert forwards_to(cluster, cluster.nodes["sshgw"]) == wanted
    assert f"    PermitOpen {' '.join(wanted)}\n" in text_of(cluster, "sshgw", DROP_IN)
    assert "PermitOpen" not in text_of(cluster, "ai-pilot", DROP_IN)


@pytest.mark.parametrize("debian", ["bookworm", "trixie"])
def test_an_old_sshd_is_refused(debian: str, tmp_path: Path) -> None:
    text = (SMALL / "inventory.yml").read_text()
    assert "compute_ssh" not in text
    (tmp_path / "inventory.yml").write_text(f"{text}\nsoftware: {{distribution: {debian}}}\n")
    if debian == "trixie":
        load(tmp_path)
    else:
        with pytest.raises(Exception, match="the sshd of Debian bookworm cannot limit logins"):
            load(tmp_path)


@pytest.fixture
def stack(tmp_path: Path) -> Path:
    """The PAM stack of a node of the example, and Debian's own, which record that they were called."""
    text = text_of(cluster_at(INVENTORY / "example"), "a40-01", PAM)
    text = text.replace("user in root", f"user in root:{ADMIN}").replace("ingroup sudo", f"ingroup {OPERATOR}")
    # modules that this machine's process may not use
    text = re.sub(r"pam_(loginuid|keyinit|motd|mail|limits|env|nologin|selinux)\.so.*", "pam_permit.so", text)
    # libpam looks for included files in /etc/pam.d, wherever the first file was
    (tmp_path / SERVICE).write_text(re.sub(r"(?m)(@include |substack +)(common-)", rf"\g<1>{tmp_path}/\2", text))
    for name in ("auth", "account", "password", "session", "session-noninteractive"):
        kind, _, rest = name.partition("-")
        mark = (
            f"pam_exec.so quiet /bin/touch {tmp_path}/{rest or 'interactive'}" if kind == "session" else "pam_permit.so"
        )
        (tmp_path / f"common-{name}").write_text(f"{kind} required {mark}\n")
    return tmp_path


def with_slurm(stack: Path, answer: str) -> None:
    text = re.sub(r"pam_slurm_adopt\.so.*", answer, (stack / SERVICE).read_text())
    (stack / SERVICE).write_text(text)


NO_PAM = pytest.mark.skipif(not pam.can_ask(), reason="needs libpam 1.4")


@NO_PAM
@pytest.mark.promise("AAU-024", "SDU-031", "SDU-032")
@pytest.mark.parametrize(
    ("answer", "let_in"),
    [("pam_permit.so", True), ("pam_deny.so", False), ("pam_slurm_adopt_is_missing.so", False)],
    ids=["a job", "no job", "Slurm is gone"],
)
def test_users_need_a_job_and_admins_never_do(stack: Path, answer: str, let_in: bool) -> None:
    with_slurm(stack, answer)
    assert pam.ask(stack, SERVICE, USER, "account") is let_in
    for admin in ("root", ADMIN, OPERATOR):
        assert pam.ask(stack, SERVICE, admin, "account"), admin


@NO_PAM
def test_slurm_is_asked_even_if_the_password_has_to_be_changed(stack: Path) -> None:
    """Debian's own lines end the stack in that case."""
    (stack / "common-account").write_text("account [success=done default=done] pam_permit.so\n")
    with_slurm(stack, "pam_deny.so")
    assert not pam.ask(stack, SERVICE, USER, "account")
    (stack / "common-account").write_text("account requisite pam_deny.so\n")
    with_slurm(stack, "pam_permit.so")
    assert not pam.ask(stack, SERVICE, "root", "account"), "what Debian's own lines refuse stays refused"


@NO_PAM
@pytest.mark.parametrize(("user", "interactive"), [(USER, False), ("root", True), (ADMIN, True), (OPERATOR, True)])
def test_systemd_takes_no_user_out_of_the_job(stack: Path, user: str, interactive: bool) -> None:
    """pam_systemd is in Debian's stack for interactive sessions only."""
    assert pam.ask(stack, SERVICE, user, "session")
    assert (stack / "interactive").exists() is interactive
    assert (stack / "noninteractive").exists() is not interactive


def test_pam_slurm_adopt_accepts_the_name_of_the_service() -> None:
    """For a service other than sshd the module would check nothing, and admit all users."""
    for inventory, node, name in (("example", "a40-01", None), ("aau-ai-cloud", "nv-ai-01", "nv-ai-01.srv.aau.dk")):
        (line,) = re.findall(r".*pam_slurm_adopt.*", text_of(load(INVENTORY / inventory), node, PAM))
        words = line.split()
        assert words[:3] == ["account", "required", "pam_slurm_adopt.so"]
        assert f"service={SERVICE}" in words
        assert {"action_no_jobs=deny", "action_generic_failure=deny", "action_adopt_failure=deny"} <= set(words)
        assert [word for word in words if word.startswith("nodename=")] == ([f"nodename={name}"] if name else [])


@pytest.mark.promise("SDU-031")
def test_compute_nodes_trust_heads_on_request_of_the_inventory() -> None:
    cluster = cluster_at(INVENTORY / "santos-dumont")
    settings = text_of(cluster, "sdumont4000", DROP_IN).splitlines()
    assert {"HostbasedAuthentication yes", "IgnoreRhosts yes", "IgnoreUserKnownHosts yes"} <= set(settings)
    assert text_of(cluster, "sdumont4000", TRUSTED_HOSTS).split() == ["10.70.1.1", "login", "login.sdumont.lncc.br"]
    client = "/etc/ssh/ssh_config.d/gpupool.conf"
    assert "EnableSSHKeysign yes\n" in text_of(cluster, "login", client)
    for node in ("login", "sdumont-ctl", "sdumont-fs"):
        assert "Hostbased" not in text_of(cluster, node, DROP_IN)
        assert not text_of(cluster, node, TRUSTED_HOSTS)
    others = cluster_at(INVENTORY / "skynet")
    assert not [node for node in others.nodes if "Hostbased" in text_of(others, node, DROP_IN)]
    assert not text_of(others, "sky1", client)


@pytest.mark.skipif(not shutil.which("sshd"), reason="needs sshd")
def test_sshd_refuses_users_and_no_admin(tmp_path: Path) -> None:
    access = f"keys: homes, compute_ssh: none, admin: {{user: {ADMIN}}}"
    cluster = changed(SMALL, tmp_path / "site", ("keys: homes", access))
    # the sshd of this machine may be bookworm's, which refuses keywords of newer releases
    old = distribution("bookworm")
    cluster = replace(cluster, nodes={name: replace(node, system=old) for name, node in cluster.nodes.items()})
    name = next(node.name for node in cluster.having("compute"))
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True)
    conf = tmp_path / "sshd_config"
    conf.write_text(f"HostKey {tmp_path}/key\nUsePAM yes\n{text_of(cluster, name, DROP_IN)}")

    def refused(user: str) -> bool:
        words = [str(shutil.which("sshd")), "-T", "-f", conf, "-C", f"user={user},host=any,addr=192.0.2.1"]
        return "denyusers *" in subprocess.run(words, capture_output=True, text=True, check=True).stdout

    assert refused(USER)
    assert not refused("root")
    assert not refused(ADMIN)
