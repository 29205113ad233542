"""Mounts as systemd units: mounted now and after a reboot, and compared with the kernel's mounts."""

import posixpath
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

from gpupool.change import Aspect, Change, Kind
from gpupool.effect import Effect
from gpupool.facts.mounts import Alive, Mounted, Mounts, MountState, as_in_mountinfo
from gpupool.operations import diffs
from gpupool.operations.ambient import executing, this_host
from gpupool.operations.files import sha256_of
from gpupool.operations.files.unwanted import RECORDING
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.mounts.options import fixed, remountable
from gpupool.operations.refusal import failure
from gpupool.operations.work import Work
from gpupool.shell import shell_file, values
from gpupool.unix import UNITS
from gpupool.wanted import File, Mount

_PRELUDE = values(units=UNITS) + RECORDING + shell_file(__package__, "mounts.sh")
_END = '[ -z "$failed" ] || { printf "%s\\n" "$failed" >&2; exit 1; }'


@operation
def mounted(mounts: list[Mount]) -> Commands:
    """Have these mounts now and after a reboot, each as a systemd unit.

    An `automount` is mounted at its first access, so no server is needed; `answering` accesses it. For other mounts, a
    server that does not answer within its time limit fails the operation with the reason, after all mounts were tried.
    A mount in use is never unmounted: another source at its path is refused. Changed options are applied by a remount,
    or by a new mount if the kernel cannot change them and the old one is not in use.
    """
    paths = [mount.path for mount in mounts]
    if wrong := [m for m in mounts if not _sound(m)] or [m for m in mounts if paths.count(m.path) > 1]:
        raise Refused(f"{wrong[0].path!r}: not a valid path, source or options of a mount, or given twice")
    if not mounts:
        this_host().noop("no mounts wanted")
        return
    state = look(Mounts, "the mounts", units=_units(mounts))
    work = _MountWork(
        Kind.MOUNT, state=state, obstacles=[why for mount in mounts if (why := _in_the_way(mount, state))]
    )
    for mount in mounts:
        work.add(mount)
    work.close()
    diffs.costs("mounts", work.effects)
    yield from work.carry_out(f"{len(mounts)} mounts: as wanted", _PRELUDE, [_END])


@operation
def made_by_others(mounts: list[Mount]) -> None:
    """Fail if mounts that the site makes are missing: files written to their paths would be hidden by a later mount.

    It only reads the kernel's list, and changes nothing.
    """
    state = look(Mounts, "the mounts", units=_units(mounts))
    if wrong := [f"{mount.path}: {why}" for mount in mounts if (why := _not_theirs(mount, state))]:
        raise Refused("; ".join(wrong))
    this_host().noop(f"{len(mounts)} mounts of the site are there")


@operation
def answering(mounts: list[Mount]) -> Commands:
    """Access all of these mounts in parallel, and fail with the reason of each that does not answer.

    The access mounts each `automount`. The message also lists options that a mount in use still lacks. Call it after
    all other operations, so that a server that does not answer does not stop them. It changes nothing.
    """
    trouble = _trouble(mounts) if mounts else {}
    diffs.record(Change(Kind.MOUNT, path, (Aspect("answers", "does not", note=why),)) for path, why in trouble.items())
    if not trouble:
        this_host().noop(f"{len(mounts)} mounts answer")
        return
    yield failure("; ".join(f"{path}: {why}" for path, why in trouble.items()))


def _trouble(mounts: list[Mount]) -> dict[str, str]:
    state = look(Mounts, "the mounts", units=_units(mounts))
    asked = {mount.path: (_name(mount.units[0]) if mount.units else "", mount.patience) for mount in mounts}
    alive = look(Alive, "which mounts answer", mounts=asked)
    trouble: dict[str, str] = {}
    for mount in mounts:
        why, now = alive.get(mount.path), state.at(mount.path)
        if why:
            trouble[mount.path] = f"{mount.source} is down: {why}"
        elif not mount.units:
            if wrong := _not_theirs(mount, state):
                trouble[mount.path] = wrong
        elif why is None and executing():
            trouble[mount.path] = f"{mount.source} is not mounted"
        elif now and executing() and (late := fixed(mount.options, now)):
            trouble[mount.path] = (
                f"mounted without {','.join(late)}, because it or another mount of the same server is in use "
                f"(fuser -vm {mount.path} shows by whom): drain the node, then run again"
            )
    return trouble


@dataclass(kw_only=True)
class _MountWork(Work):
    """The lines of the script, by their order: new units, start at boot, unmounts, mounts."""

    state: MountState
    stages: list[str] = field(default_factory=list)
    entries: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    boot: dict[str, list[str]] = field(default_factory=lambda: {"enable": [], "disable": []})
    lifts: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    effects: dict[str, Effect] = field(default_factory=dict)

    def add(self, mount: Mount) -> None:
        """Compare one wanted mount with the node."""
        differs = [each for unit in mount.units for each in self._unit(mount, unit)]
        name, now = _name(mount.units[0]), self.state.at(mount.path)
        down = "" if mount.source.startswith("/") else f" (is {mount.source.partition(':')[0]} up?)"
        values = (name, mount.path, mount.source, str(mount.patience), down)
        if now is None and mount.automount:
            watch = _name(mount.units[1])
            if self.state.units[watch].active != "active":
                self.after.append(shlex.join(["arm", watch, mount.path]))
                wanted = f"{mount.source} mounted at first access"
                differs.append(Aspect(wanted, "not mounted", note=f"mount {mount.source} at first access"))
        elif now is None:
            check = shlex.join(["there", name, mount.path, as_in_mountinfo(mount.path)])
            self.after.append(f"{shlex.join(['bring', *values])} && {check}")
            differs.append(Aspect(f"{mount.source} mounted", "not mounted", note=f"mount {mount.source}"))
        elif late := fixed(mount.options, now):
            self.lifts.append(shlex.join(["lift", name, mount.path]))
            self.after.append(shlex.join(["anew", *values]))
            again = f"mounted again with {','.join(late)}, unless in use"
            differs.append(Aspect(f"with {','.join(late)}", f"without {','.join(late)}", note=again))
            self.effects[mount.path] = Effect("mount again where unused")
        elif late := remountable(mount.options, now):
            # options to remove must be given, too: newer mount commands do not change others
            options = ",".join(dict.fromkeys([*mount.options.split(","), *late]))
            self.after.append(shlex.join(["again", name, mount.path, options, str(mount.patience)]))
            again = f"remounted with {','.join(late)}"
            differs.append(Aspect(f"with {','.join(late)}", f"without {','.join(late)}", note=again))
            self.effects[mount.path] = Effect("remount")
        if differs:
            self.differs(mount.path, *differs)

    def _unit(self, mount: Mount, file: File) -> Iterator[Aspect]:
        name, text = _name(file), file.text
        unit, quoted = self.state.units[name], shlex.quote(name)
        if unit.text != text:
            self.texts.append(text)
            sha256 = sha256_of(text)
            self.stages.append(f"unit {quoted} {len(text.encode())} {sha256}")
            self.entries.append(shlex.join(["remember", file.path, sha256]))
            self.before.append(f"place {quoted}")
            yield diffs.text_of(unit.text or None, text, file.path)
        # the mount unit of an automount is not enabled: a boot would wait for it
        wanted = not (mount.automount and name.endswith(".mount"))
        if wanted != (unit.enabled in ("enabled", "enabled-runtime")):
            self.boot["enable" if wanted else "disable"].append(name)
            on, off = "from boot on", "no longer from boot on"
            yield Aspect(on, "not at boot", name, on) if wanted else Aspect("not at boot", on, name, off)

    def close(self) -> None:
        """Add a daemon-reload if unit files changed, and put the lines in order."""
        stale = any(unit.need_daemon_reload for unit in self.state.units.values())
        if self.before or stale:
            self.before.append("systemctl daemon-reload")
            if not self.changes:
                self.differs("daemon-reload", Aspect("read", "not read", note="a mount unit changed on disk"))
        for verb, names in self.boot.items():
            if names:
                # in one command: each makes systemd reload all units
                message = shlex.quote(f"{', '.join(names)}: cannot be {verb}d")
                self.before.append(f"systemctl --quiet {shlex.join([verb, '--', *names])} || say {verb} {message}")
        recorded = [*self.entries, "write_record"] if self.entries else []
        self.lines = [*self.stages, *recorded, *self.before, *self.lifts, *self.after]


def _not_theirs(mount: Mount, state: MountState) -> str | None:
    now = next((entry for entry in reversed(state.mounted) if entry.path == mount.path), None)
    if now is None:
        above = state.holding(mount.path)
        if mount.fstype and above and above.fstype == mount.fstype:
            return f"{mount.source} is a directory of {above.path} here: set mount_point: {above.path} in the inventory"
        return f"{mount.source} is not mounted; the site mounts it, not gpupool: ask its admins"
    if mount.fstype and now.fstype not in (mount.fstype, "autofs"):
        return f"{now.source} ({now.fstype}) is mounted there, and not {mount.source} ({mount.fstype})"
    return None


def _units(mounts: list[Mount]) -> list[str]:
    return [_name(unit) for mount in mounts for unit in mount.units]


def _name(unit: File) -> str:
    return unit.path.rpartition("/")[2]


def _in_the_way(mount: Mount, state: MountState) -> str | None:
    now = state.at(mount.path)
    if now is None or _same(mount, now, state):
        return None
    return (
        f"{mount.path}: {now.source} ({now.fstype}) is mounted there, wanted {mount.source} ({mount.fstype}); "
        f"unmount it when it is not in use (umount {mount.path}), then run again"
    )


def _same(mount: Mount, now: Mounted, state: MountState) -> bool:
    if {"bind", "rbind"} & set(mount.options.split(",")):
        inside = state.holding(mount.source)
        if inside is None or inside.device != now.device:
            return False
        below = mount.source.removeprefix(inside.path.rstrip("/"))
        return now.root.rstrip("/") == inside.root.rstrip("/") + below.rstrip("/")
    # the kernel's type is nfs4 for a mount of type nfs with version 4
    same_type = now.fstype == mount.fstype or {now.fstype, mount.fstype} == {"nfs", "nfs4"}
    return same_type and now.source.rstrip("/") == mount.source.rstrip("/")


def _sound(mount: Mount) -> bool:
    return mount.path.startswith("/") and mount.path == posixpath.normpath(mount.path) != "/" and not any(
        "\n" in value or not value for value in (mount.path, mount.source, mount.fstype, mount.options)
    )  # fmt: skip
