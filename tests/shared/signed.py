"""A signed repository of packages behind a web server, for apt."""

import hashlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


def gpg(home: Path, *arguments: str, text: str = "") -> str:
    """Return the output of gpg with this home."""
    command = ["gpg", "--batch", "--homedir", str(home), *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


@contextmanager
def gpg_home() -> Iterator[Path]:
    """A folder for gpg, not in tmp_path: the path of its agent's socket has a limit of 107 characters."""
    with tempfile.TemporaryDirectory(prefix="gpg-") as folder:
        yield Path(folder)
        subprocess.run(["gpgconf", "--homedir", folder, "--kill", "all"], check=False)


def new_key(home: Path) -> str:
    """Make a key, and return its public part."""
    gpg(home, "--passphrase", "", "--quick-generate-key", "packages@example.org", "ed25519")
    return gpg(home, "--armor", "--export")


def publish(top: Path, home: Path, suite: str, lists: Mapping[str, str], origin: str = "Debian") -> None:
    """Write a suite with these components and the text of their Packages, signed by the key of a home."""
    sums = ""
    for component, text in lists.items():
        packages = top / f"dists/{suite}/{component}/binary-amd64/Packages"
        packages.parent.mkdir(parents=True)
        packages.write_text(text)
        digest = hashlib.sha256(text.encode()).hexdigest()
        sums += f" {digest} {len(text.encode())} {component}/binary-amd64/Packages\n"
    release = (
        f"Origin: {origin}\nSuite: stable\nCodename: {suite}\nComponents: {' '.join(lists)}\nArchitectures: amd64\n"
        f"Date: Thu, 01 Jan 2026 00:00:00 UTC\nSHA256:\n{sums}"
    )
    (top / f"dists/{suite}/InRelease").write_text(gpg(home, "--clearsign", text=release))


@contextmanager
def served(top: Path, address: str) -> Iterator[str]:
    """Serve a folder on an address of this machine; yields its URL."""
    command = [sys.executable, "-u", "-m", "http.server", "--bind", address, "--directory", str(top), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout
            port = re.search(r" port (\d+)", server.stdout.readline())
            assert port
            yield f"http://{address}:{port[1]}"
        finally:
            server.kill()
