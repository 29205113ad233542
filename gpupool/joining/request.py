"""The arguments of an onboarding: names and addresses, single or as ranges."""

from collections.abc import Mapping, Sequence

from gpupool.addresses import is_ipv4
from gpupool.cluster.node_table import expand
from gpupool.errors import UsageError


def nodes_of(arguments: Sequence[str]) -> dict[str, str]:
    """Return addresses by name from `NAME ADDRESS` or `NAME=ADDRESS …`, also ranges like `n[1-4]=10.0.0.[1-4]`."""
    if len(arguments) == 2 and not any("=" in word for word in arguments):
        arguments = [f"{arguments[0]}={arguments[1]}"]
    nodes: dict[str, str] = {}
    for word in arguments:
        name, sign, address = word.partition("=")
        if not (name and sign and address):
            raise UsageError(f"{word!r}: write NAME ADDRESS, or NAME=ADDRESS for each of several nodes")
        names, addresses = _expanded(name), _expanded(address)
        if len(names) != len(addresses):
            raise UsageError(f"{word!r}: {len(addresses)} addresses for {len(names)} nodes")
        for each, its in zip(names, addresses, strict=True):
            if each in nodes or its in nodes.values():
                raise UsageError(f"{each if each in nodes else its} is given twice")
            nodes[each] = _address(its)
    if not nodes:
        raise UsageError("no node: write NAME ADDRESS, or NAME=ADDRESS for each of several nodes")
    return nodes


def further_of(arguments: Sequence[str], names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the addresses of each node in further networks, by network, from `NETWORK=ADDRESS …`, also ranges."""
    further: dict[str, dict[str, str]] = {name: {} for name in names}
    for word in arguments:
        network, sign, address = word.partition("=")
        if not (network and sign and address):
            raise UsageError(f"--address {word}: write NETWORK=ADDRESS")
        addresses = _expanded(address)
        if len(addresses) != len(names):
            raise UsageError(f"--address {word}: {len(addresses)} addresses for {len(names)} nodes")
        for name, its in zip(names, addresses, strict=True):
            further[name][network] = _address(its)
    return further


def replaced_of(arguments: Sequence[str], known: Mapping[str, str | None]) -> dict[str, str]:
    """Return addresses by name for nodes in the inventory; an address that is left out is the inventory's."""
    given: dict[str, str] = {}
    for word in [f"{arguments[0]}={arguments[1]}"] if len(arguments) == 2 and is_ipv4(arguments[1]) else arguments:
        if "=" in word:
            given |= nodes_of([word])
        else:
            given |= {name: known.get(name) or "" for name in _expanded(word)}
    if strange := [name for name in given if name not in known]:
        raise UsageError(f"{', '.join(strange)}: not in the inventory (leave --replace out for a new node)")
    if homeless := [name for name, address in given.items() if not address]:
        raise UsageError(f"{', '.join(homeless)}: without an address in the inventory: write NAME=ADDRESS")
    return given


def gpus_of(text: str | None) -> dict[str, int] | None:
    """Return counts by type from `a40:4,rtx_6000:2`; {} from `none`; None if the option was not given."""
    if text is None:
        return None
    if text == "none":
        return {}
    counts = {}
    for word in text.split(","):
        gpu, _, count = word.partition(":")
        if not gpu or not count.isdigit() or int(count) < 1:
            raise UsageError(f"--gpus {text}: write TYPE:COUNT with commas between them, or none")
        counts[gpu] = int(count)
    return counts


def _expanded(word: str) -> list[str]:
    try:
        return expand(word)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _address(word: str) -> str:
    if not is_ipv4(word):
        raise UsageError(f"{word!r} is not an IPv4 address")
    return word
