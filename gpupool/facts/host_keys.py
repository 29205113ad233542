"""SSH host keys: a node's own, and its known hosts; public keys only.

Keys of one node are written to files of all others: so a line that is not exactly one key of a known kind is ignored.
"""

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask

ETC = "/etc/ssh"
KNOWN = f"{ETC}/ssh_known_hosts"
#: One key of each kind is used, so that a node has five lines at most.
KINDS = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa")
_LONGEST = 4096  # characters; an RSA key of 16384 bits has 2800
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")

_OWN = r"""
for file in "$1"/ssh_host_*_key.pub; do
  if [ -f "$file" ]; then printf '%s\n' "$(head -c 8192 -- "$file" | head -n 1 | cut -d ' ' -f 1,2)"; fi
done
"""
# a link is not followed: it may lead to a file server that does not answer
_OTHERS = 'if [ -f "$1" ] && [ ! -L "$1" ]; then head -c 16777216 -- "$1"; echo; fi'


class HostKeys(Fact[tuple[str, ...]]):
    """The node's own keys, each as "kind base64"."""

    def command(self) -> StringCommand:
        """Ask for the first line of each public key file."""
        return ask(_OWN, ETC)

    def read(self, lines: list[str]) -> tuple[str, ...]:
        """Read the answer."""
        return _keys(line.split() for line in lines)


class KnownHosts(Fact[dict[str, tuple[str, ...]]]):
    """The keys in the node's file of known hosts, by the first name of each line."""

    def command(self) -> StringCommand:
        """Ask for the whole file."""
        return ask(_OTHERS, KNOWN)

    def read(self, lines: list[str]) -> dict[str, tuple[str, ...]]:
        """Read the answer."""
        return known_in(lines)


def known_in(lines: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the keys in the lines of a file of known hosts, by the first name of each line."""
    by_name: dict[str, list[list[str]]] = {}
    for line in lines:
        names, *tokens = line.split() or [""]
        by_name.setdefault(names.split(",")[0], []).append(tokens)
    return {name: keys for name, entries in by_name.items() if (keys := _keys(entries))}


def _keys(lines: Iterable[list[str]]) -> tuple[str, ...]:
    keys: dict[str, str] = {}
    for kind, text in (tokens[:2] for tokens in lines if len(tokens) > 1):
        if kind in KINDS and kind not in keys and _is_key(kind, text):
            keys[kind] = f"{kind} {text}"
    return tuple(keys[kind] for kind in KINDS if kind in keys)


def _is_key(kind: str, text: str) -> bool:
    if len(text) > _LONGEST or not _BASE64.fullmatch(text):
        return False
    try:
        blob = b64decode(text, validate=True)
    except binascii.Error:
        return False
    # a key begins with the length and the name of its kind
    return blob.startswith(len(kind).to_bytes(4, "big") + kind.encode()) and b64encode(blob).decode() == text
