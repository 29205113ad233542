"""Access by SSH, as sshd itself evaluates its settings, and the loaded firewall."""

import shlex

import pytest
from testinfra.host import Host

from gpupool.cluster.logins import entry
from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.system.access import SERVICE, admins
from gpupool.compile.system.firewall import TABLE
from gpupool.compile.system.ssh import SETTINGS, settings, tried_users
from gpupool.facts.sshd import Overrides
from gpupool.verify.asked import asked
from gpupool.verify.scope import not_applicable

pytestmark = pytest.mark.manages("ssh")


def test_sshd_accepts_the_users_of_the_inventory(cluster: Cluster, node: Node, host: Host) -> None:
    wanted = entry(cluster, node)
    user = next(iter(cluster.users), None)
    if user is None:
        not_applicable()
    settings = _settings(host, user)
    refused = settings.get("denyusers") == "*"
    assert refused == (wanted == "admins"), f"sshd {'refuses' if refused else 'accepts'} users such as {user}"
    asks = settings.get("pamservicename") == SERVICE
    assert asks == (wanted == "job"), f"sshd {'asks' if asks else 'does not ask'} Slurm whether users have a job here"


def test_sshd_has_the_settings_of_the_inventory(cluster: Cluster, node: Node, host: Host) -> None:
    overridden = asked(host, Overrides, path=SETTINGS, text=settings(cluster, node), users=tried_users(cluster))
    assert overridden is not None, "sshd does not print its settings"
    wrong = [
        f"{setting.keyword} is {', '.join(setting.now)} ({' '.join(setting.files)}), not {', '.join(setting.wanted)}"
        for setting in overridden
    ]
    assert not wrong, f"sshd reads another file first: {'; '.join(wrong)}"


def test_sshd_accepts_admins(cluster: Cluster, node: Node, host: Host) -> None:
    out = [name for name in admins(cluster) if _settings(host, name).get("denyusers")]
    assert not out, f"sshd refuses {', '.join(out)}"


@pytest.mark.manages("firewall")
def test_firewall_is_loaded(cluster: Cluster, node: Node, host: Host) -> None:
    done = host.run(f"nft list table inet {TABLE}")
    assert done.rc == 0, f"table inet {TABLE} is not loaded: {done.stderr.strip()}"


def _settings(host: Host, user: str) -> dict[str, str]:
    # any address is right: no rule depends on it
    output = host.check_output(f"sshd -T -C user={shlex.quote(user)},host=any,addr=192.0.2.1")
    return {key: value for key, _, value in (line.partition(" ") for line in output.splitlines())}
