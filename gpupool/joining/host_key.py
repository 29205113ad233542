"""Host keys of new machines: read without a login, shown, and pinned in known_hosts after an admin agrees."""

import base64
import hashlib
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from gpupool.errors import GpupoolError
from gpupool.facts.host_keys import known_in
from gpupool.remote.errors import NoAnswerError
from gpupool.remote.nodes import Nodes

_SECONDS = 10.0
_KINDS = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521",
    "rsa-sha2-512,rsa-sha2-256",
)


@dataclass(frozen=True)
class Pins:
    """The place of a machine's host keys: OpenSSH's file of known hosts, and the names of the machine in it."""

    file: Path
    names: tuple[str, ...]


def scan(nodes: Nodes, name: str) -> tuple[str, ...]:
    """Return the public host keys of a machine, each as "kind base64"; GpupoolError if no SSH server answers.

    Each connection reads one key, and the machine proves in it that it has the private key.
    """
    nodes.host_keys(name, seconds=_SECONDS)

    def shown(algorithms: str) -> list[str]:
        try:
            return nodes.host_keys(name, algorithms, _SECONDS)
        except NoAnswerError:  # the machine has no key of this kind
            return []

    with ThreadPoolExecutor(len(_KINDS)) as pool:
        keys = tuple(dict.fromkeys(key for found in pool.map(shown, _KINDS) for key in found))
    if not keys:
        raise GpupoolError(f"{name}: the SSH server shows no host key of a known kind")
    return keys


def pins_of(nodes: Nodes, name: str) -> Pins:
    """Return the place of a machine's host keys: the testbed's file, or the file in OpenSSH's configuration."""
    settings = nodes.settings(name)
    testbed = nodes.target.testbed
    file = Path(testbed.known_hosts if testbed else settings["userknownhostsfile"].split()[0]).expanduser()
    alias = settings.get("hostkeyalias")
    names = (known_name(settings["hostname"], int(settings["port"])), *([alias] if alias else []))
    return Pins(file, names)


def fingerprint(key: str) -> str:
    """Return a key's fingerprint in ssh's format."""
    digest = hashlib.sha256(base64.b64decode(key.split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def known_name(address: str, port: int) -> str:
    """Return the name of a machine for a file of known hosts."""
    return address if port == 22 else f"[{address}]:{port}"


def pinned(pins: Pins) -> tuple[str, ...]:
    """Return the keys that are pinned for a machine, including keys under hashed names."""
    if not pins.file.exists():
        return ()
    command = ["ssh-keygen", "-F", pins.names[-1], "-f", str(pins.file)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if not line.startswith(("#", "@"))]
    return known_in(" ".join(["machine", *line.split()[1:]]) for line in lines).get("machine", ())


def pin(pins: Pins, keys: Iterable[str]) -> None:
    """Replace the pinned keys of a machine with these; without keys, remove the machine."""
    file = pins.file
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if pinned(pins):
        for name in pins.names:
            command = ["ssh-keygen", "-R", name, "-f", str(file)]
            subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True)
        file.with_name(f"{file.name}.old").unlink(missing_ok=True)
    before = file.read_text() if file.exists() else ""
    gap = "" if before.endswith("\n") or not before else "\n"
    if lines := "".join(f"{','.join(pins.names)} {key}\n" for key in keys):
        with file.open("a") as out:
            out.write(gap + lines)
