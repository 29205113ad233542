"""Other programs of a node that own what gpupool sets: refused if they undo it, and named in a plan if they may."""

from collections.abc import Sequence

from gpupool.facts.masters import Master, Masters, Owns
from gpupool.operations import diffs
from gpupool.operations.ambient import executing, this_host
from gpupool.operations.frame import WAITS, Refused, look, operation

_LET_IN = {
    "ufw": "`ufw allow from {}`".format,
    "firewalld": "`firewall-cmd --permanent --zone=trusted --add-source={} && firewall-cmd --reload`".format,
}


@operation
def refused(table: str, networks: list[str]) -> None:
    """Refuse if cloud-init would write /etc/hosts anew, or unattended-upgrades would reboot the node.

    A plan also names firewalls, which must let in `networks`, and programs that configure machines. `table` is our
    table of nftables. Nothing is changed; all other operations are done before the refusal counts.
    """
    others = look(Masters, "the other programs that configure this node", table=table)
    if undone := problems(others):
        raise Refused("; ".join(undone), WAITS)
    for text in () if executing() else notes(others, networks):
        diffs.note(text)
    this_host().noop("no other program undoes what the inventory has")


def problems(others: Sequence[Master]) -> list[str]:
    """Return the sentences about programs that undo settings of the inventory."""
    return [_PROBLEMS[each.owns].format(where=each.where) for each in others if each.owns in _PROBLEMS]


_PROBLEMS = {
    Owns.HOSTS: (
        "cloud-init writes /etc/hosts anew at each boot, without the other nodes (manage_etc_hosts in {where}): set "
        "`manage_etc_hosts: false` there, or after the machine's first boot `touch /etc/cloud/cloud-init.disabled`"
    ),
    Owns.REBOOT: (
        "unattended-upgrades would reboot this node under its jobs: remove Unattended-Upgrade::Automatic-Reboot from "
        "{where}, which is read after gpupool's file"
    ),
}


def notes(others: Sequence[Master], networks: Sequence[str]) -> list[str]:
    """Return the sentences about firewalls and programs that configure machines, which need not be in the way."""
    walls = [
        f"{each.name} drops what its rules do not let in: let in {' and '.join(networks)}"
        + (f" ({', '.join(map(_LET_IN[each.name], networks))})" if each.name in _LET_IN else "")
        + "; `gpupool verify` tries the ports"
        for each in others
        if each.owns is Owns.FIREWALL
    ]
    managers = ", ".join(f"{each.name} ({each.where})" for each in others if each.owns is Owns.MANAGER)
    text = f"{managers} also configures this node: take the paths that `gpupool render` lists away from it"
    return [*walls, text] if managers else walls
