"""SSH access to a testbed: its own SSH key, and host keys read from the containers before the first connection."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from gpupool.errors import TestbedError
from gpupool.testbed.spec import Container

KEY_TYPE = "ed25519"
#: OpenSSH's default is post-quantum, and costs a tenth of a second of CPU for each connection.
KEY_EXCHANGE = "KexAlgorithms ^ecdh-sha2-nistp256"


def key_in(folder: Path) -> Path | None:
    """Return the path of the private key in this folder; None if it or its `.pub` file is missing."""
    key = folder / "id_ed25519"
    return key if key.exists() and public_path(key).exists() else None


def ensure_key(folder: Path) -> Path:
    """Return the path of the private key in this folder, created on first use together with its `.pub` file."""
    if existing := key_in(folder):
        return existing
    key = folder / "id_ed25519"
    fresh = folder / "id_ed25519.new"
    for leftover in (fresh, public_path(fresh), key, public_path(key)):
        leftover.unlink(missing_ok=True)
    command = ["ssh-keygen", "-q", "-t", KEY_TYPE, "-N", "", "-C", f"gpupool testbed {folder.name}", "-f", str(fresh)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise TestbedError("ssh-keygen is not installed: apt-get install openssh-client") from error
    if done.returncode:
        raise TestbedError(f"cannot create an SSH key in {folder}: {done.stderr.strip() or done.stdout.strip()}")
    public_path(fresh).rename(public_path(key))
    fresh.rename(key)
    return key


def public_path(key: Path) -> Path:
    """Return the path of the public key of a private key."""
    return key.with_name(key.name + ".pub")


def known_hosts(pairs: Sequence[tuple[Container, str]]) -> str:
    """Return known_hosts lines: name, full name and address of each node, with the public key read from it."""
    return "".join(f"{_names(box)} {' '.join(key.split()[:2])}\n" for box, key in pairs)


def _names(box: Container) -> str:
    return ",".join(dict.fromkeys((box.name, box.hostname, box.address)))


def ssh_config(containers: tuple[Container, ...], key: Path, hosts: Path, port: int = 22) -> str:
    """Return a configuration for `ssh -F` that connects to each node by its name, and checks its host key."""
    common = (
        f"  User root\n  Port {port}\n  IdentityFile {_quoted(key)}\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {_quoted(hosts)}\n  GlobalKnownHostsFile /dev/null\n"
        f"  StrictHostKeyChecking yes\n  HostKeyAlgorithms ssh-{KEY_TYPE}\n  LogLevel ERROR\n"
        f"  {KEY_EXCHANGE}\n"
    )
    each = (
        f"Host {' '.join(dict.fromkeys((box.name, box.hostname)))}\n  HostName {box.address}\n" for box in containers
    )
    return "".join(each) + "Host *\n" + common


def _quoted(path: Path) -> str:
    return f'"{path}"'


def write(path: Path, text: str, mode: int = 0o600) -> None:
    """Replace a file atomically."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(text)
    fresh.chmod(mode)
    fresh.replace(path)
