"""Faults of many kinds: verify or plan names each with its node, and no other node."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import full
import pytest
from pace import until

from gpupool.facts.host_keys import KNOWN
from tests.testbed.cluster import Testbed, gpupool

SSHD = "/etc/ssh/sshd_config.d/00-site.conf"
DROP_IN = "/run/systemd/system/slurmd.service.d/site.conf"
_ENDS = "[Service]\nExecStart=\nExecStart=/bin/false\nExecReload=\nType=simple\nRestart=always\nRestartSec=1s"
_CLOSE = (
    "nft add table inet fault; nft add chain inet fault {0} '{{ type filter hook {0} priority -500; }}'; nft add rule"
)
_CAP = "sacctmgr -nP show assoc account=kira-lab user= format=grptres"
_OPEN = "nft delete table inet fault"


@dataclass(frozen=True)
class Fault:
    """A fault of a node: shell commands that make and mend it ("": an apply does), and texts of the messages about it.

    `named` is the node at which it is to be mended, if that is another one.
    """

    node: str
    make: str
    mend: str
    texts: tuple[str, ...]
    named: str = ""

    @property
    def at(self) -> str:
        """Return the node at which the fault is named."""
        return self.named or self.node


FAULTS = {
    "slurmd stopped": Fault(
        "a40-01", "systemctl stop slurmd", "systemctl start slurmd", ("slurmd.service", "gpupool apply")
    ),
    "crash loop": Fault(
        "rtx2080ti-01",
        f"mkdir -p {DROP_IN.rpartition('/')[0]}; printf '%s' '{_ENDS}' >{DROP_IN}; systemctl daemon-reload;"
        " systemctl restart slurmd; true",
        f"rm {DROP_IN}; systemctl daemon-reload; systemctl reset-failed slurmd; systemctl restart slurmd",
        ("slurmd.service", "restart"),
    ),
    "port closed": Fault(
        "titanx-01", f"{_CLOSE.format('input')} inet fault input tcp dport 6818 drop", _OPEN, ("6818",)
    ),
    "way out closed": Fault(
        "sky2", f"{_CLOSE.format('output')} inet fault output tcp dport 6817 drop", _OPEN, ("6817",)
    ),
    "web server stopped": Fault("optimus", "systemctl stop nginx", "systemctl start nginx", ("nginx",)),
    "uid of slurm": Fault(
        "sky1",
        "cp -p /etc/passwd /root/passwd; sed -i 's/^slurm:x:[0-9]*/slurm:x:64999/' /etc/passwd",
        "cp -p /root/passwd /etc/passwd",
        ("64999",),
    ),
    "key of munge": Fault(
        "clippy",
        "cp -p /etc/munge/munge.key /root/kept.key; head -c 1024 /dev/urandom >/etc/munge/munge.key;"
        " systemctl restart munge",
        "mv /root/kept.key /etc/munge/munge.key; systemctl restart munge",
        ("munge",),
    ),
    "device file gone": Fault("a40-01", "mv /dev/nvidia0 /dev/kept0", "mv /dev/kept0 /dev/nvidia0", ("/dev/nvidia0",)),
    "mount gone": Fault(
        "rtx2080ti-01",
        "umount /coc/pskynet5",
        "",
        ("/coc/pskynet5",),
    ),
    "disk full": Fault(
        "titanx-01",
        "mount -t tmpfs -o size=1m none /var/spool/slurmd; head -c 2000000 /dev/zero >/var/spool/slurmd/full; true",
        "umount /var/spool/slurmd",
        ("/var/spool/slurmd", "full"),
    ),
    "setting of sshd": Fault(
        "sky2",
        f"echo AllowAgentForwarding no >{SSHD}; systemctl reload ssh",
        f"rm {SSHD}; systemctl reload ssh",
        ("agentforwarding",),
    ),
    "firewall empty": Fault("sky1", "nft flush ruleset", "systemctl restart nftables", ("firewall",)),
    "name of the node": Fault("clippy", "hostname other", "hostname clippy", ("other",)),
    "host keys": Fault("a40-01", f"cp -p {KNOWN} /root/known; : >{KNOWN}", f"cp -p /root/known {KNOWN}", ("host key",)),
    "hosts": Fault(
        "vicki",
        "cp /etc/hosts /root/hosts; sed -i '/multivac/d' /etc/hosts",
        "cat /root/hosts >/etc/hosts",
        ("multivac",),
    ),
    "package removed": Fault("sky1", "dpkg --force-depends -r tmux", "", ("tmux",)),
    "uid of a user": Fault(
        "sky2",
        "cp -p /etc/passwd /root/passwd; sed -i 's/^u-kira1:x:20031/u-kira1:x:29999/' /etc/passwd",
        "cp -p /root/passwd /etc/passwd",
        ("u-kira1 has uid 29999, not 20031",),
    ),
    "left-over user": Fault("optimus", "useradd -g kira-lab u-left1", "userdel u-left1", ("u-left1", "usermod")),
    "node drained": Fault(
        "marvin",
        "scontrol update nodename=titanx-01 state=drain reason=site",
        "scontrol update nodename=titanx-01 state=resume",
        ("drain", "site"),
        "titanx-01",
    ),
    "arbiter stopped": Fault(
        "marvin", "systemctl stop gpupool-arbiter", "systemctl start gpupool-arbiter", ("gpupool-arbiter.service",)
    ),
    "cap raised": Fault(
        "marvin",
        f"{_CAP} >/root/cap; sacctmgr -i modify account kira-lab set grptres=gres/gpu=99",
        "sacctmgr -i modify account kira-lab set grptres=$(cat /root/cap)",
        ("kira-lab",),
    ),
    "slurmdbd stopped": Fault("marvin", "systemctl stop slurmdbd", "systemctl start slurmdbd", ("slurmdbd.service",)),
}
#: Faults of different nodes, which one look names together. The suite tries the first of these.
BATCHES = (
    (
        "slurmd stopped",
        "crash loop",
        "port closed",
        "way out closed",
        "web server stopped",
        "uid of slurm",
        "key of munge",
    ),
    ("device file gone", "mount gone", "disk full", "setting of sshd", "firewall empty", "name of the node", "hosts"),
    ("host keys", "package removed", "uid of a user", "left-over user", "node drained", "arbiter stopped"),
    ("cap raised",),
    ("slurmdbd stopped",),
)


def messages(testbed: Testbed) -> dict[str, str]:
    """Return by node the messages of verify about it, and the changes that plan lists for it."""
    done = gpupool("verify", testbed.inventory, "--on", "testbed", "--json")
    lines = [
        (seen["node"], f"{seen['check']}: {seen['why']}")
        for seen in json.loads(done.stdout)["checks"]
        if not seen["ok"]
    ]
    lines += [(node, change) for node, changes in testbed.plan()[1].items() for change in changes]
    nodes = {node for node, _ in lines}
    return {node: "\n".join(line for of, line in lines if of == node) for node in nodes}


@pytest.mark.parametrize(
    "names", [BATCHES[0], *(pytest.param(names, marks=full.only) for names in BATCHES[1:])], ids="+".join
)
def test_each_fault_is_named_at_its_node_and_no_other_node_is(idle: Testbed, names: Sequence[str]) -> None:
    faults = [FAULTS[name] for name in names]
    with ExitStack() as mended:
        if to_apply := [fault.node for fault in faults if not fault.mend]:
            mended.callback(idle.apply, "--limit", ",".join(to_apply))
        for fault in faults:
            mended.callback(idle.out, fault.node, fault.mend or "true")
            idle.out(fault.node, fault.make)
        seen = messages(idle)
        assert {node: text for node, text in seen.items() if node not in {fault.at for fault in faults}} == {}
        missed = {
            name: seen.get(fault.at)
            for name, fault in zip(names, faults, strict=True)
            if not all(text in seen.get(fault.at, "") for text in fault.texts)
        }
        assert missed == {}
    until(lambda: messages(idle) == {}, "all is well again", lambda: str(messages(idle)))
