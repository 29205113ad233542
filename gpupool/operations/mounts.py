"""Mounts as systemd units: there now, there after a reboot, and checked against what the kernel says is mounted."""

import hashlib
import posixpath
import shlex
from collections.abc import Generator

from pyinfra.api.command import StringCommand
from pyinfra.api.operation import operation

from gpupool.facts.mounts import UNITS, Mounted, Mounts, MountState
from gpupool.operations import diffs
from gpupool.operations.ambient import this_host
from gpupool.operations.refusal import refuse
from gpupool.operations.units import REMOTE, MountEntry, unit_name, unit_text

_PRELUDE = rf"""
set -u
say() {{ # unit words
  printf '%s\n' "$2" >&2; failed=$2
}}
failed=
unit() {{ # name size sha256; the text comes by standard input
  new={UNITS}/.$1.gpupool-new; rm -f -- "$new"; head -c "$2" > "$new"
  printf '%s  %s\n' "$3" "$new" | sha256sum -c --status || {{ echo "$1: the upload was cut short; run again" >&2; exit 1; }}
  chmod 644 "$new"; sync -- "$new"
}}
place() {{ mv -fT -- "{UNITS}/.$1.gpupool-new" {UNITS}/"$1" && sync -- {UNITS}; }}
bring() {{ # unit path source seconds hint; restart: systemd may believe in a mount that somebody took away by hand
  timeout -k 5 "$4" systemctl restart -- "$1" 2>/dev/null && return
  if [ $? -ge 124 ]; then say "$1" "$2: $3 was not mounted within $4 s$5"; else
    said=$(journalctl --no-pager -o cat -u "$1" -n 20 2>/dev/null | grep -v '^Mount\|^Unmount\|^Failed to mount\|\.mount: ' | tail -n 1)
    say "$1" "$2: $3 cannot be mounted${{said:+: $said}}$5"
  fi
  systemctl --no-block stop -- "$1"; return 1
}}
there() {{ # unit path; a unit may be called active with nothing mounted
  findmnt -n --mountpoint "$2" >/dev/null || say "$1" "$2: systemd says it is mounted, the kernel does not"
}}
"""  # noqa: E501


@operation()
def mounted(mounts: list[MountEntry]) -> Generator[StringCommand, None, None]:
    """Have these mounts there now and (``boot``) after a reboot, each as a systemd unit of ours.

    A server that does not answer fails the operation in words when its time is over; the other mounts are made all
    the same. A mount in use is never torn down: another source at its place is refused in words. Changed options are
    given to a mount that is there by remounting it.
    """
    paths = [mount.path for mount in mounts]
    if wrong := [m for m in mounts if not _sound(m)] or [m for m in mounts if paths.count(m.path) > 1]:
        yield from refuse(f"{wrong[0].path!r}: no path, source or options that a mount can have, or named twice")
        return
    if not mounts:
        this_host().noop("no mounts wanted")
        return
    state = this_host().get_fact(Mounts, units=[unit_name(path) for path in paths])
    if state is None:
        yield from refuse("the node does not say what is mounted: no answer within 60 s")
        return
    if complaints := [words for mount in mounts if (words := _in_the_way(mount, state))]:
        yield from refuse("; ".join(complaints))
        return
    changes, texts, stages, lines = _work(mounts, state)
    diffs.record(changes)
    if not changes:
        this_host().noop(f"{len(mounts)} mounts: as wanted")
        return
    script = [_PRELUDE.strip(), *stages, *lines, '[ -z "$failed" ] || { printf "%s\\n" "$failed" >&2; exit 1; }']
    yield StringCommand("\n".join(script), _stdin="".join(texts))


def _work(mounts: list[MountEntry], state: MountState) -> tuple[dict[str, str | None], list[str], list[str], list[str]]:
    changes: dict[str, str | None] = {}
    texts: list[str] = []
    stages: list[str] = []
    before: list[str] = []
    reload = any(unit.need_daemon_reload for unit in state.units.values())
    after: list[str] = []
    for mount in mounts:
        name = unit_name(mount.path)
        quoted, where = shlex.quote(name), shlex.quote(mount.path)
        unit, now, text = state.units[name], state.at(mount.path), unit_text(mount)
        notes: list[str] = []
        if unit.text != text:
            texts.append(text)
            size, sha256 = len(text.encode()), hashlib.sha256(text.encode()).hexdigest()
            stages.append(f"unit {quoted} {size} {sha256}")
            if now is not None and unit.text and _options(unit.text) != mount.options:
                # before the unit file: a run that is killed here sees the difference again
                words = shlex.quote(f"{mount.path}: cannot be remounted with {mount.options}")
                options = shlex.quote(f"remount,{mount.options}")
                before.append(f"timeout -k 5 {mount.timeout} mount -o {options} -- {where} || say {quoted} {words}")
            before.append(f"place {quoted}")
            reload = True
            notes.append(diffs.diff_of(unit.text or None, text, f"{UNITS}/{name}"))
        if mount.boot != (unit.enabled in ("enabled", "enabled-runtime")):
            verb = "enable" if mount.boot else "disable"
            after.append(
                f"systemctl --quiet {verb} -- {quoted} || say {quoted} {shlex.quote(f'{name}: cannot be {verb}d')}"
            )
            notes.append("mounted at boot\n" if mount.boot else "no longer mounted at boot\n")
        if now is None:
            down = f" (is {mount.source.partition(':')[0]} up?)" if REMOTE.fullmatch(mount.fstype) else ""
            values = (name, mount.path, mount.source, str(mount.timeout), down)
            after.append(f"{shlex.join(['bring', *values])} && there {quoted} {where}")
            notes.append(f"mount {mount.source}\n")
        if notes:
            changes[mount.path] = "".join(notes)
    if reload:
        before.append("systemctl daemon-reload")
        if not changes:
            changes["daemon-reload"] = "a mount unit changed on disk\n"
    return changes, texts, stages, before + after


def _in_the_way(mount: MountEntry, state: MountState) -> str | None:
    now = state.at(mount.path)
    if now is None or _same(mount, now, state):
        return None
    return (
        f"{mount.path}: {now.source} ({now.fstype}) is mounted there, wanted {mount.source} ({mount.fstype}); "
        f"unmount it when nobody uses it (umount {mount.path}), then run again"
    )


def _same(mount: MountEntry, now: Mounted, state: MountState) -> bool:
    if {"bind", "rbind"} & set(mount.options.split(",")):
        inside = state.holding(mount.source)
        if inside is None or inside.device != now.device:
            return False
        below = mount.source.removeprefix(inside.path.rstrip("/"))
        return now.root.rstrip("/") == inside.root.rstrip("/") + below.rstrip("/")
    # the kernel says nfs4 for what was mounted as nfs with version 4
    same_type = now.fstype == mount.fstype or {now.fstype, mount.fstype} == {"nfs", "nfs4"}
    return same_type and now.source.rstrip("/") == mount.source.rstrip("/")


def _sound(mount: MountEntry) -> bool:
    return mount.path.startswith("/") and mount.path == posixpath.normpath(mount.path) != "/" and not any(
        "\n" in value or not value for value in (mount.path, mount.source, mount.fstype, mount.options)
    )  # fmt: skip


def _options(text: str) -> str:
    line = next((line for line in text.splitlines() if line.startswith("Options=")), "Options=")
    return line.removeprefix("Options=").replace("%%", "%")
