"""Addresses of networks as text."""

import ipaddress
import re

# RFC 1123, with the `_` that machines have in real life; the last label has a letter, unlike a mistyped address
_LABEL = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_DNS_NAME = re.compile(rf"(?=.{{1,253}}$)(?:{_LABEL}\.)*(?=[^.]*[A-Za-z]){_LABEL}")


def is_ipv4(text: str) -> bool:
    """Return whether a text is an IPv4 address."""
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


def is_dns_name(text: str) -> bool:
    """Return whether a text is a name that DNS takes; an IPv4 address is none."""
    return _DNS_NAME.fullmatch(text) is not None


def name_in(name: str, network: str) -> str:
    """Return the name of a node's address in a further network: `a40-01-fabric`, `a40-01-fabric.example.org`."""
    host, dot, domain = name.partition(".")
    return f"{host}-{network}{dot}{domain}"
