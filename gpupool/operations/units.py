"""Unit files of mounts, as text; no pyinfra here, so that they can be shown without any."""

import re
from dataclasses import dataclass

REMOTE = re.compile(r"nfs4?|cifs|ceph|lustre|beegfs|9p|fuse\.\w+")


@dataclass(frozen=True)
class MountEntry:
    """One mount: ``options`` as in fstab; ``timeout`` in seconds is how long the server may take to answer."""

    path: str
    source: str
    fstype: str = "nfs4"
    options: str = "defaults"
    boot: bool = True
    timeout: int = 60


def unit_name(path: str) -> str:
    """Return the name that the mount unit of ``path`` must have, as ``systemd-escape --path --suffix=mount`` says."""
    parts = "/".join(part for part in path.split("/") if part)
    if not parts:
        return "-.mount"
    safe = "".join(
        sign if re.fullmatch(r"[A-Za-z0-9:_.]", sign) and not (sign == "." and at == 0)
        else "-" if sign == "/"
        else "".join(f"\\x{byte:02x}" for byte in sign.encode())
        for at, sign in enumerate(parts)
    )  # fmt: skip
    return f"{safe}.mount"


def unit_text(mount: MountEntry) -> str:
    """Return the unit file of a mount."""
    remote = REMOTE.fullmatch(mount.fstype)
    target = "remote-fs.target" if remote else "local-fs.target"
    after = "After=network-online.target\nWants=network-online.target\n" if remote else ""
    return (
        f"# written by gpupool\n[Unit]\nDescription={mount.path}\n{after}\n"
        f"[Mount]\nWhat={_percent(mount.source)}\nWhere={_percent(mount.path)}\nType={mount.fstype}\n"
        # twice the patience of the run: a boot with every node asking at once is slower than one apply
        f"Options={_percent(mount.options)}\nTimeoutSec={2 * mount.timeout}\n\n[Install]\nWantedBy={target}\n"
    )


def _percent(text: str) -> str:
    return text.replace("%", "%%")
