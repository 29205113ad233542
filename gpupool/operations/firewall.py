"""A firewall that does not shut out who sets it up, and is loaded again where another program emptied the rules."""

import ipaddress

from gpupool.change import Aspect, Kind
from gpupool.facts.firewall import Caller, Emptied
from gpupool.operations.ambient import this_host
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.work import Work


@operation
def keeps_us(ssh_from: list[str], ssh_never: list[str]) -> None:
    """Refuse rules that let in SSH from some IPv4 networks, and never from others, where they would keep us out."""
    address = look(Caller, "where this connection comes from")
    if not admits(ssh_from, ssh_never, address):
        raise Refused(
            f"the firewall would refuse our own SSH, which comes from {address}: add it to access.admin.networks, or "
            "apply from inside cluster.network"
        )
    this_host().noop(f"SSH from {address or 'here'} stays possible")


@operation
def loaded(table: str, unit: str) -> Commands:
    """Have an active unit load its table of family inet again where it is gone: another program emptied the rules."""
    work = Work(Kind.OTHER)
    if look(Emptied, f"the table {table} of nftables", table=table, unit=unit):
        work.do(
            f"table inet {table}",
            Aspect("loaded", "not loaded", note="is not loaded"),
            "systemctl",
            "restart",
            "--",
            unit,
        )
    yield from work.carry_out(f"table inet {table}: loaded")


def admits(ssh_from: list[str], ssh_never: list[str], address: str) -> bool:
    """Return whether such rules let an address in; "" is no connection, and IPv6 comes in where everywhere does."""
    if not address:
        return True
    # an IPv4 connection to a socket of IPv6 is written ::ffff:10.0.0.1
    own = ipaddress.ip_address(address.partition("%")[0].removeprefix("::ffff:"))
    if any(own in ipaddress.ip_network(network) for network in ssh_never):
        return False
    if own.version == 6:
        return own.is_link_local or "0.0.0.0/0" in ssh_from
    return any(own in ipaddress.ip_network(network) for network in ssh_from)
