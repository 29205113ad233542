"""Properties of the machine under the testbed: cgroups, name servers, proxies, mirrors and certificates."""

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
    """Return `v1` if the devices controller is v1 (also on hybrid hosts), otherwise `v2`."""
    try:
        lines = Path("/proc/cgroups").read_text().splitlines()
    except OSError:
        return "v2"
    hierarchies = {line.split()[0]: line.split()[1] for line in lines if line and not line.startswith("#")}
    return "v1" if hierarchies.get("devices", "0") != "0" else "v2"


def nameservers() -> tuple[str, ...]:
    """Return the name servers that containers can reach, too: no loopback, link-local or IPv6 addresses."""
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
    """Return the proxy settings of this process, completed by apt's."""
    settings = {name: os.environ[name] for name in _PROXIES if os.environ.get(name)}
    if shutil.which("apt-config"):
        for name in ("http", "https"):
            proxy = _output("apt-config", "dump", "--format", "%v%n", f"Acquire::{name}::Proxy").strip()
            if proxy and proxy != "DIRECT":
                settings.setdefault(f"{name}_proxy", proxy)
    return settings


def mirror() -> str | None:
    """Return the Debian mirror of this machine's apt; None if there is none."""
    if not shutil.which("apt-get"):
        return None
    output = _output(
        "apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian", "Component: main"
    )
    return next((line.strip().rstrip("/") for line in output.splitlines() if line.startswith("http")), None)


def apt_options() -> tuple[str, ...]:
    """Return mmdebstrap's options for checks that this machine's apt skips, such as the date of a mirror."""
    if not shutil.which("apt-config"):
        return ()
    accepts = ("Acquire::Check-Valid-Until", "Acquire::Check-Date")
    refused = [name for name in accepts if _output("apt-config", "dump", "--format", "%v", name).strip() == "false"]
    return tuple(f'--aptopt={name} "false"' for name in refused)


def certificates() -> dict[str, str]:
    """Return the certificate authorities that an admin has added to this machine: file name -> text."""
    folder = Path("/usr/local/share/ca-certificates")
    return {path.name: path.read_text() for path in sorted(folder.glob("*.crt"))} if folder.is_dir() else {}


def allow_inotify(nodes: int) -> str | None:
    """Raise the inotify limit for that many systemds; return a message with the command if only an admin can."""
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
