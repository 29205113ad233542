"""What the machine under the testbed is like: its cgroups, name servers, proxies, mirrors and certificates."""

import ipaddress
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Literal

_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
_INOTIFY = Path("/proc/sys/fs/inotify/max_user_instances")
_INOTIFY_PER_NODE = 32


def host_cgroups() -> Literal["v1", "v2"]:
    """Return `v1` where the devices controller is v1 (hybrid hosts too), `v2` where there is only v2."""
    try:
        lines = Path("/proc/cgroups").read_text().splitlines()
    except OSError:
        return "v2"
    hierarchies = {line.split()[0]: line.split()[1] for line in lines if line and not line.startswith("#")}
    return "v1" if hierarchies.get("devices", "0") != "0" else "v2"


def nameservers() -> tuple[str, ...]:
    """Return the name servers that containers can reach too: loopback ones are of use to this machine only."""
    for path in (Path("/etc/resolv.conf"), Path("/run/systemd/resolve/resolv.conf")):
        try:
            addresses = re.findall(r"^nameserver\s+(\S+)", path.read_text(), flags=re.MULTILINE)
        except OSError:
            continue
        usable = tuple(address for address in addresses if not _is_local(address))
        if usable:
            return usable
    return ()


def _is_local(address: str) -> bool:
    try:
        known = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return True
    return known.is_loopback or known.is_link_local or known.version == 6  # the testbed's networks are IPv4


def proxies() -> dict[str, str]:
    """Return the proxy settings of this process and, where it has none, those of apt."""
    settings = {name: os.environ[name] for name in _PROXIES if os.environ.get(name)}
    if shutil.which("apt-config"):
        for name in ("http", "https"):
            proxy = _output("apt-config", "dump", "--format", "%v%n", f"Acquire::{name}::Proxy").strip()
            if proxy and proxy != "DIRECT":
                settings.setdefault(f"{name}_proxy", proxy)
    return settings


def mirror() -> str | None:
    """Return the Debian mirror that this machine's apt uses, if it is a Debian with one."""
    if not shutil.which("apt-get"):
        return None
    output = _output(
        "apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian", "Component: main"
    )
    return next((line.strip().rstrip("/") for line in output.splitlines() if line.startswith("http")), None)


def apt_options() -> tuple[str, ...]:
    """Return mmdebstrap's options for what apt accepts of mirrors here, such as the old dates of a frozen one."""
    if not shutil.which("apt-config"):
        return ()
    accepts = ("Acquire::Check-Valid-Until", "Acquire::Check-Date")
    refused = [name for name in accepts if _output("apt-config", "dump", "--format", "%v", name).strip() == "false"]
    return tuple(f'--aptopt={name} "false"' for name in refused)


def certificates() -> dict[str, str]:
    """Return the certificate authorities an admin added to this machine, file name to text."""
    folder = Path("/usr/local/share/ca-certificates")
    return {path.name: path.read_text() for path in sorted(folder.glob("*.crt"))} if folder.is_dir() else {}


def allow_inotify(nodes: int) -> str | None:
    """Let that many systemds watch files at once, or return the sentence that says how an admin can."""
    need = 128 + nodes * _INOTIFY_PER_NODE
    try:
        if int(_INOTIFY.read_text()) >= need:
            return None
        _INOTIFY.write_text(f"{need}\n")
    except OSError:
        return f"{nodes} systemds may run out of inotify instances: sudo sysctl fs.inotify.max_user_instances={need}"
    return None


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
