"""Addresses of networks as text."""

import ipaddress


def is_ipv4(text: str) -> bool:
    """Return whether a text is an IPv4 address."""
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True
