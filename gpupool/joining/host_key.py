"""Host keys of machines that are new: read from them without logging in, shown, and pinned once a person agrees."""

import base64
import hashlib
import subprocess
from collections.abc import Iterable
from pathlib import Path

from gpupool.engine.explain import one_line
from gpupool.errors import GpupoolError
from gpupool.facts.host_keys import known_in

_SECONDS = 10
_KINDS = "ed25519,ecdsa,rsa"


def scan(address: str, port: int) -> tuple[str, ...]:
    """Return the public keys that a machine shows, each as "kind base64"; GpupoolError without an answer."""
    command = ["ssh-keyscan", "-T", str(_SECONDS), "-p", str(port), "-t", _KINDS, address]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=6 * _SECONDS
        )
    except FileNotFoundError:
        raise GpupoolError("ssh-keyscan is not installed: apt-get install openssh-client") from None
    except subprocess.TimeoutExpired:
        done = subprocess.CompletedProcess(command, 1, "", "")
    name = known_name(address, port)
    keys = known_in(line.replace(f"{name} ", "machine ", 1) for line in done.stdout.splitlines()).get("machine", ())
    if not keys:
        errors = done.stderr.strip().splitlines()
        why = f": {one_line(errors[-1])}" if errors else ""
        raise GpupoolError(f"{address}: no SSH server answers on port {port}{why}")
    return keys


def fingerprint(key: str) -> str:
    """Return a key's fingerprint as ssh shows it."""
    digest = hashlib.sha256(base64.b64decode(key.split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def known_name(address: str, port: int) -> str:
    """Return by what name a file of known hosts has a machine."""
    return address if port == 22 else f"[{address}]:{port}"


def pinned(file: Path, address: str, port: int) -> tuple[str, ...]:
    """Return the keys that a file of known hosts has for a machine, hashed lines among them."""
    if not file.exists():
        return ()
    name = known_name(address, port)
    command = ["ssh-keygen", "-F", name, "-f", str(file)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if not line.startswith(("#", "@"))]
    return known_in(" ".join(["machine", *line.split()[1:]]) for line in lines).get("machine", ())


def pin(file: Path, address: str, port: int, keys: Iterable[str]) -> None:
    """Have a file of known hosts hold just these keys for a machine; without any it is forgotten."""
    # OpenSSH's HostKeyAlias has no port
    names = list(dict.fromkeys((known_name(address, port), address)))
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if pinned(file, address, port):
        for name in names:
            command = ["ssh-keygen", "-R", name, "-f", str(file)]
            subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True)
        file.with_name(f"{file.name}.old").unlink(missing_ok=True)
    before = file.read_text() if file.exists() else ""
    gap = "" if before.endswith("\n") or not before else "\n"
    if lines := "".join(f"{','.join(names)} {key}\n" for key in keys):
        with file.open("a") as out:
            out.write(gap + lines)
