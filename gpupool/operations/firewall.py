"""Refuse firewall rules that would block gpupool's SSH, and load the rules again if another program removed them."""

import ipaddress

from gpupool.change import Aspect, Kind
from gpupool.facts.firewall import MISSING, Caller, Table
from gpupool.operations.ambient import this_host
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.work import Work


@operation
def keeps_us(ssh_from: list[str], ssh_never: list[str]) -> None:
    """Fail if rules would block gpupool's SSH: they allow SSH from the networks `ssh_from`, except `ssh_never`."""
    address = look(Caller, "where this connection comes from")
    if not admits(ssh_from, ssh_never, address):
        raise Refused(
            f"the firewall would refuse our own SSH, which comes from {address}: add it to access.admin.networks, or "
            "apply from inside cluster.network"
        )
    this_host().noop(f"SSH from {address or 'here'} stays possible")


@operation
def loaded(table: str, unit: str, rules: str) -> Commands:
    """Have an active unit load its table of family inet from `rules` again if another program removed or changed it."""
    work = Work(Kind.OTHER)
    now = look(Table, f"the table {table} of nftables", table=table, unit=unit, rules=rules)
    what = f"table inet {table}"
    if now == MISSING:
        work.do(what, Aspect("loaded", "not loaded", note="is not loaded"), "systemctl", "restart", "--", unit)
    elif now:
        differs = Aspect(f"as in {rules}", "other rules", note=f"the kernel has other rules than {rules}")
        work.do(what, differs, "systemctl", "reload", "--", unit)
    yield from work.carry_out(f"table inet {table}: loaded")


def admits(ssh_from: list[str], ssh_never: list[str], address: str) -> bool:
    """Return whether such rules allow an address; also True for "" (no connection).

    IPv6 is allowed from link-local addresses, and from all if `ssh_from` has 0.0.0.0/0.
    """
    if not address:
        return True
    # an IPv4 address of a connection to an IPv6 socket has the form ::ffff:10.0.0.1
    own = ipaddress.ip_address(address.partition("%")[0].removeprefix("::ffff:"))
    if any(own in ipaddress.ip_network(network) for network in ssh_never):
        return False
    if own.version == 6:
        return own.is_link_local or "0.0.0.0/0" in ssh_from
    return any(own in ipaddress.ip_network(network) for network in ssh_from)
