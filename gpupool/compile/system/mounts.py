"""The systemd unit files of a mount: systemd.mount(5), systemd.automount(5)."""

import re
from dataclasses import replace
from functools import lru_cache

from gpupool.unix import UNITS
from gpupool.wanted import File, Mount

_REMOTE = re.compile(r"nfs4?|cifs|ceph|lustre|beegfs|9p|fuse\.\w+")


@lru_cache(maxsize=256)
def with_units(mount: Mount) -> Mount:
    """Return the mount with its unit files, its .mount first."""
    texts = {unit_name(mount.path): unit_text(mount)}
    if mount.automount:
        texts[unit_name(mount.path, "automount")] = automount_text(mount)
    return replace(mount, units=tuple(File(f"{UNITS}/{name}", text) for name, text in texts.items()))


def unit_name(path: str, kind: str = "mount") -> str:
    """Return the unit name for `path`, as `systemd-escape --path --suffix=KIND` prints it."""
    parts = "/".join(part for part in path.split("/") if part)
    if not parts:
        return f"-.{kind}"
    safe = "".join(
        sign if re.fullmatch(r"[A-Za-z0-9:_.]", sign) and not (sign == "." and at == 0)
        else "-" if sign == "/"
        else "".join(f"\\x{byte:02x}" for byte in sign.encode())
        for at, sign in enumerate(parts)
    )  # fmt: skip
    return f"{safe}.{kind}"


def unit_text(mount: Mount) -> str:
    """Return the unit file of a mount."""
    remote = _REMOTE.fullmatch(mount.fstype)
    after, options = "", mount.options
    if remote:
        # systemd gives up a unit that failed five times in ten seconds, and its automount with it: users would then
        # write to the empty directory below.
        after = "StartLimitIntervalSec=0\nAfter=network-online.target\nWants=network-online.target\n"
        # The boot does not wait for it.
        options = f"{options},nofail"
    # Twice the time limit of an apply: at a boot, all nodes may ask the server at the same time.
    seconds = str(2 * mount.timeout) if mount.timeout else "infinity"
    return (
        f"# written by gpupool\n[Unit]\nDescription={_percent(mount.path)}\n{after}\n"
        f"[Mount]\nWhat={_percent(mount.source)}\nWhere={_percent(mount.path)}\nType={mount.fstype}\n"
        f"Options={_percent(options)}\nTimeoutSec={seconds}\n\n[Install]\nWantedBy={_target(mount)}\n"
    )


def automount_text(mount: Mount) -> str:
    """Return the unit file of an automount, with which systemd mounts at the first access; it never unmounts.

    The automount also wants the mount, so that df shows it after a boot. No target of the boot wants the mount, because
    the boot would wait for it.
    """
    mount_unit = unit_name(mount.path)
    # Log-ins would wait for a home.mount that has begun: systemd-user-sessions.service is ordered after it.
    wants = "" if mount_unit == "home.mount" else f"Wants={_percent(mount_unit)}\n"
    return (
        f"# written by gpupool\n[Unit]\nDescription={_percent(mount.path)}, at first access\n"
        f"StartLimitIntervalSec=0\n{wants}\n[Automount]\nWhere={_percent(mount.path)}\n\n"
        f"[Install]\nWantedBy={_target(mount)}\n"
    )


def _target(mount: Mount) -> str:
    return "remote-fs.target" if _REMOTE.fullmatch(mount.fstype) else "local-fs.target"


def _percent(text: str) -> str:
    return text.replace("%", "%%")
