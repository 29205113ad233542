"""The testbed's way in: one SSH key of its own, and host keys read from the containers before the first connect."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from gpupool.errors import TestbedError
from gpupool.testbed.spec import Container

KEY_TYPE = "ed25519"
#: What OpenSSH agrees on by itself withstands quantum computers, and costs a tenth of a second of CPU each time.
KEY_EXCHANGE = "KexAlgorithms ^ecdh-sha2-nistp256"


def ensure_key(folder: Path) -> Path:
    """Return the private key in this folder, made on first use; its public half stands beside it as `.pub`."""
    key = folder / "id_ed25519"
    if key.exists() and public_path(key).exists():
        return key
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
    """Return where the public half of a key is."""
    return key.with_name(key.name + ".pub")


def known_hosts(pairs: Sequence[tuple[Container, str]]) -> str:
    """Return known_hosts lines: each node by name, full name and address, with the public key it was read to have."""
    return "".join(f"{_names(box)} {' '.join(key.split()[:2])}\n" for box, key in pairs)


def _names(box: Container) -> str:
    return ",".join(dict.fromkeys((box.name, box.hostname, box.address)))


def ssh_config(containers: tuple[Container, ...], key: Path, hosts: Path, port: int = 22) -> str:
    """Return a configuration for ssh -F that reaches each node by its name, and checks its host key."""
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
    """Replace a file whole or not at all."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(text)
    fresh.chmod(mode)
    fresh.replace(path)
