"""Daemons run with the settings of the inventory, whatever an admin had them load: their files alone do not show it."""

from dataclasses import dataclass

import full
import pytest
from pace import until

from tests.testbed.cluster import Testbed, gpupool

SLURM_CONF = "/etc/slurm/slurm.conf"
UNITS = "/etc/systemd/system"


@dataclass(frozen=True)
class Daemon:
    """A daemon of a node: a script of sed changes its file, `load` has it read that, and `ask` prints what it uses."""

    name: str
    node: str
    file: str
    edit: str
    load: str
    ask: str


DAEMONS = (
    Daemon(
        "slurmctld",
        "marvin",
        SLURM_CONF,
        "s/^(AccountingStorageEnforce)=.*/\\1=associations/; /^PartitionName/s/MaxTime=[^ ]*/MaxTime=7/",
        "scontrol reconfigure",
        "scontrol show config | grep -E 'Enforce|HASH_VAL'; scontrol -o show partition | grep -o ' MaxTime=[^ ]*'",
    ),
    Daemon(
        "slurmdbd",
        "marvin",
        "/etc/slurm/slurmdbd.conf",
        "$aDebugLevel=debug2",
        "systemctl restart slurmdbd",
        "sacctmgr -n show config | grep -w DebugLevel",
    ),
    Daemon(
        "mariadb",
        "marvin",
        "/etc/mysql/mariadb.conf.d/90-gpupool.cnf",
        "s/^innodb_lock_wait_timeout=.*/innodb_lock_wait_timeout=77/",
        "systemctl restart mariadb",
        "mariadb -N -e 'select @@innodb_lock_wait_timeout'",
    ),
    Daemon(
        "munged",
        "clippy",
        f"{UNITS}/munge.service.d/gpupool.conf",
        "$aNice=3",
        "systemctl daemon-reload; systemctl restart munge",
        "ps -o ni= -C munged; systemctl show -P Nice munge",
    ),
    Daemon(
        "slurmd",
        "clippy",
        f"{UNITS}/slurmd.service.d/gpupool.conf",
        "s/^RestartSec=.*/RestartSec=99/",
        "systemctl daemon-reload",
        "systemctl show -P RestartUSec slurmd",
    ),
    Daemon(
        "nftables",
        "clippy",
        "/etc/gpupool/firewall.nft",
        "/@of_user /d",
        "nft -f /etc/gpupool/firewall.nft",
        "nft -s -t list table inet gpupool",
    ),
    Daemon(
        "sshd",
        "sky1",
        "/etc/ssh/sshd_config.d/gpupool.conf",
        "1iBanner /etc/hostname",
        "kill -HUP $(systemctl show -P MainPID ssh)",
        "ssh -v -o BatchMode=yes -o StrictHostKeyChecking=no no-user@localhost 2>&1 | grep -cx sky1",
    ),
    Daemon(
        "shares of users",
        "sky1",
        f"{UNITS}/user-.slice.d/gpupool.head.conf",
        "s/^TasksMax=.*/TasksMax=777/",
        "systemctl daemon-reload",
        "systemctl show -P TasksMax user-4242.slice",
    ),
    Daemon(
        "sackd",
        "sky1",
        f"{UNITS}/sackd.service.d/gpupool.conf",
        "s/^RestartSec=.*/RestartSec=99/",
        "systemctl daemon-reload; systemctl restart sackd",
        "systemctl show -P RestartUSec sackd",
    ),
    Daemon(
        "nginx",
        "optimus",
        "/etc/nginx/conf.d/gpupool.conf",
        "s/nosniff/sniff/",
        "nginx -s reload",
        "curl -s -i http://localhost/wiki/ -H 'Host: optimus.cc.gatech.edu' | grep -i nosniff",
    ),
)


def spoil(testbed: Testbed, daemon: Daemon, back: bool) -> str:
    """Have a daemon load a changed file, and put the file `back` with its times; return what it used before."""
    right = testbed.run(daemon.node, daemon.ask).stdout
    testbed.out(daemon.node, f"cp -p {daemon.file} {daemon.file}.kept; sed -E -i '{daemon.edit}' {daemon.file}")
    testbed.out(daemon.node, daemon.load)
    until(lambda: testbed.run(daemon.node, daemon.ask).stdout != right, f"{daemon.name} runs with the changed file")
    testbed.out(daemon.node, f"{'mv' if back else 'rm'} {daemon.file}.kept {daemon.file if back else ''}")
    return right


@pytest.mark.parametrize(
    "back",
    [
        pytest.param(True, id="put back"),
        pytest.param(False, id="left", marks=full.only),
    ],
)
def test_what_a_daemon_has_loaded_is_what_the_inventory_says_after_an_apply(idle: Testbed, back: bool) -> None:
    right = {daemon: spoil(idle, daemon, back) for daemon in DAEMONS}
    status, changes = idle.plan()
    assert status == 3
    assert set(changes) == {daemon.node for daemon in DAEMONS}
    done = idle.apply()
    assert done.returncode == 0, done.stdout
    now = {daemon: idle.run(daemon.node, daemon.ask).stdout for daemon in DAEMONS}
    assert {daemon.name for daemon in DAEMONS if now[daemon] != right[daemon]} == set()
    assert idle.plan() == (0, {})


#: Files of a site on marvin that are read after ours, with their texts.
LATER = {
    "/etc/mysql/mariadb.conf.d/zz.cnf": "[mariadbd]\ninnodb-lock-wait-timeout = 5\n",
    f"{UNITS}/slurmctld.service.d/zz.conf": "[Service]\nRestartSec=99\nAfter=network.target\nNice=0\n",
}


def test_a_later_file_of_the_site_that_undoes_a_setting_is_named_and_stays(idle: Testbed) -> None:
    for path, text in LATER.items():
        idle.out("marvin", f"mkdir -p {path.rpartition('/')[0]}; cat > {path}", text=text)
    try:
        done = idle.apply("--limit", "marvin")
        assert done.returncode == 1
        assert "[mysqld] innodb_lock_wait_timeout is 5, from /etc/mysql/mariadb.conf.d/zz.cnf" in done.stdout
        assert f"[Service] RestartSec is 99, from {UNITS}/slurmctld.service.d/zz.conf" in done.stdout
        assert "After" not in done.stdout, "values that systemd adds up are not overridden"
        assert idle.out("marvin", f"cat {' '.join(LATER)}") == "".join(LATER.values()).strip()
        assert idle.plan("--limit", "marvin")[0] == 1
        verified = gpupool("verify", idle.inventory, "--on", "testbed", "--limit", "marvin")
        assert verified.returncode == 1
        assert "innodb_lock_wait_timeout is 5" in verified.stdout
    finally:
        idle.out("marvin", f"rm {' '.join(LATER)}; systemctl daemon-reload")
    assert idle.apply("--limit", "marvin").returncode == 0
    assert idle.plan() == (0, {})
