"""Other programs that own what gpupool sets, from their files on a machine; apt itself evaluates its settings."""

from pathlib import Path

import pytest

from gpupool.compile.system.firewall import TABLE
from gpupool.facts import masters
from gpupool.facts.masters import Master, Masters, Owns
from gpupool.operations.masters import notes, problems
from tests.operations.real_shell import fact_here

NETWORK = "10.71.0.0/16"
FABRIC = "10.72.0.0/16"
IN_FORCE = 'Unattended-Upgrade::Automatic-Reboot "false";\n'


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root with cloud-init and unattended-upgrades, as Debian's cloud image has them, and gpupool's file for apt."""
    monkeypatch.setattr(masters, "ROOT", str(tmp_path))
    for program in ("cloud-init", "unattended-upgrade"):
        put(tmp_path, f"usr/bin/{program}", "").chmod(0o755)
    put(tmp_path, "etc/cloud/cloud.cfg", "cloud_init_modules:\n - update_hostname\n - update_etc_hosts\n")
    put(tmp_path, "etc/apt/apt.conf.d/50unattended-upgrades", '//Unattended-Upgrade::Automatic-Reboot "false";\n')
    put(tmp_path, "etc/apt/apt.conf.d/90gpupool-reboot", IN_FORCE)
    monkeypatch.setenv("APT_CONFIG", str(put(tmp_path, "apt.conf", f'Dir "{tmp_path}/";\n')))
    return tmp_path


def put(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def found(root: Path) -> list[Master]:
    seen: list[Master] = fact_here(Masters, table=TABLE)
    return seen


def test_a_cloud_image_alone_undoes_nothing(root: Path) -> None:
    assert found(root) == []


@pytest.mark.parametrize("text", ["manage_etc_hosts: true", 'manage_etc_hosts: "localhost"  # ours'])
def test_user_data_that_write_the_hosts_are_named(root: Path, text: str) -> None:
    """User data count more than a file in /etc, which says that they do not."""
    put(root, "etc/cloud/cloud.cfg.d/99-site.cfg", "manage_etc_hosts: false\n")
    data = put(root, "var/lib/cloud/instance/cloud-config.txt", f"#cloud-config\n{text}\n")
    assert found(root) == [Master(Owns.HOSTS, "", str(data))]
    (problem,) = problems(found(root))
    assert f"(manage_etc_hosts in {data})" in problem
    put(root, "etc/cloud/cloud-init.disabled", "")
    assert found(root) == []


def test_a_later_file_that_leaves_the_hosts_alone_counts(root: Path) -> None:
    put(root, "etc/cloud/cloud.cfg.d/10-image.cfg", "manage_etc_hosts: true\n")
    assert len(found(root)) == 1
    put(root, "etc/cloud/cloud.cfg.d/99-site.cfg", "manage_etc_hosts: false\n")
    assert found(root) == []


def test_a_file_that_lets_unattended_upgrades_reboot_is_named(root: Path) -> None:
    earlier = put(root, "etc/apt/apt.conf.d/52site", 'Unattended-Upgrade::Automatic-Reboot "true";\n')
    assert found(root) == [], "gpupool's file is read later"
    later = earlier.rename(earlier.with_name("99site"))
    assert found(root) == [Master(Owns.REBOOT, "", str(later))]
    assert f"from {later}, which is read after gpupool's file" in problems(found(root))[0]


def test_a_firewall_and_a_configuration_manager_are_named_with_what_to_do(root: Path) -> None:
    put(root, "etc/ufw/ufw.conf", "# ufw\nENABLED=yes\nLOGLEVEL=low\n")
    cron = put(root, "etc/cron.d/pull", "# chef-client\n*/30 * * * * root ansible-pull -U https://example.org/site\n")
    assert found(root) == [Master(Owns.FIREWALL, "ufw", ""), Master(Owns.MANAGER, "ansible-pull", str(cron))]
    assert problems(found(root)) == []
    wall, manager = notes(found(root), [NETWORK, FABRIC])
    assert f"let in {NETWORK} and {FABRIC} (`ufw allow from {NETWORK}`, `ufw allow from {FABRIC}`)" in wall
    assert manager.startswith(f"ansible-pull ({cron}) also configures this node")
