"""Compare wanted pools with existing ones: changes, obstacles, and changes that are refused."""

import shlex
from collections.abc import Iterator, Sequence
from posixpath import dirname

from gpupool.change import Aspect, Kind
from gpupool.facts.zfs_disks import DiskState, Group, PoolsState, PoolState
from gpupool.operations.work import Work
from gpupool.operations.zfs.values import MARK, create_arguments, plain_properties, shown_groups
from gpupool.wanted import Pool

_DESTROYED = "2"


def work_on_pools(wanted: Sequence[Pool], state: PoolsState) -> Work:
    """Return the work that changes the existing pools to the wanted ones; no disk is ever removed."""
    work = Work(Kind.ZFS)
    for entry in wanted:
        if entry.name in state.pools:
            _set_properties(entry, state.pools[entry.name], work)
            if entry.vdevs:
                _compare_disks(entry, state.pools[entry.name], state, work)
        elif not entry.vdevs:
            if not state.trouble:  # in a plan, ZFS may not be installed yet
                work.obstacles.append(
                    f"the pool {entry.name} does not exist, and no disks are given to create it; if it only has to "
                    f"be imported: zpool import {entry.name}"
                )
        elif complaints := list(_in_the_way(entry, wanted, state)):
            work.obstacles += complaints
        elif guid := _guid(entry, state):
            places = sorted({dirname(disk) for disk in entry.disks})
            where = [word for place in places for word in ("-d", place)]
            work.do(
                f"pool {entry.name}",
                Aspect("imported", "not imported", note=f"imported from {', '.join(entry.disks)}"),
                "patiently",
                "zpool",
                "import",
                *where,
                guid,
            )
        else:
            _create(entry, work)
    return work


def _create(entry: Pool, work: Work) -> None:
    options = [word for name, value in plain_properties(entry).items() for word in ("-o", f"{name}={value}")]
    mountpoint = ["-m", entry.mountpoint] if entry.mountpoint else []
    layout = [word for vdev in entry.vdevs for word in create_arguments(vdev)]
    message = f"created: {' '.join(layout)}"
    if entry.properties:
        message += f" with {', '.join(f'{name}={value}' for name, value in plain_properties(entry).items())}"
    create = ["zpool", "create", *options, *mountpoint, "-O", f"{MARK}=1", entry.name, *layout]
    work.do(f"pool {entry.name}", Aspect(note=message), "patiently", *create)


def _set_properties(entry: Pool, existing: PoolState, work: Work) -> None:
    for name, value in plain_properties(entry).items():
        current = existing.properties[name].value if name in existing.properties else "unknown"
        if current != value:
            setting = f"pool {entry.name} {name}"
            work.do(setting, Aspect(value, current), "zpool", "set", f"{name}={value}", entry.name)


def _compare_disks(entry: Pool, existing: PoolState, state: PoolsState, work: Work) -> None:
    """Report different disks and change nothing: some vdevs cannot be removed again, and a removal can lose data."""
    left = list(existing.groups)
    add_commands: list[str] = []
    changed: list[str] = []
    for vdev in entry.vdevs:
        for kind, disks in shown_groups(vdev):
            group = next((group for group in left if group.kind == kind and _same(group, disks, state)), None)
            if group is not None:
                left.remove(group)
            elif any(_at(group, disk, state) is not None for group in existing.groups for disk in disks):
                changed.append(" ".join((kind, *disks)))
            else:
                add_commands.append(shlex.join(["zpool", "add", entry.name, *create_arguments(vdev)]))
    if add_commands:
        work.stays[f"pool {entry.name} lacks disks"] = (
            f"disks are only added by hand: {'; '.join(dict.fromkeys(add_commands))}"
        )
    if left or changed:
        current = "; ".join(" ".join((group.kind, *group.disks)) for group in left) or "nothing"
        work.stays[f"pool {entry.name} has other disks"] = (
            f"{current}, and the inventory has {'; '.join(changed) or 'none of them'}. Disks are only replaced by hand "
            "(zpool replace, attach, detach); if the pool is right as it is, correct the inventory"
        )


def _at(group: Group, disk: str, state: PoolsState) -> int | None:
    """Return the index of a disk in a vdev, None if absent. zpool may show a disk as its first partition."""
    known = state.disks.get(disk, DiskState(None)).device
    pairs = zip(group.disks, group.devices, strict=True)
    return next((at for at, pair in enumerate(pairs) if pair[0] in (disk, f"{disk}-part1") or pair[1] == known), None)


def _same(group: Group, disks: Sequence[str], state: PoolsState) -> bool:
    """Return whether a vdev has exactly these disks."""
    return {_at(group, disk, state) for disk in disks} == set(range(len(group.disks))) and len(disks) == len(
        group.disks
    )


def _in_the_way(entry: Pool, wanted: Sequence[Pool], state: PoolsState) -> Iterator[str]:
    owners = {device: name for name, pool in state.pools.items() for group in pool.groups for device in group.devices}
    ours = _guid(entry, state)
    for disk in entry.disks:
        current = state.disks.get(disk, DiskState(None))
        others = [name for other in wanted for name in other.disks if name != disk]
        twins = [
            name
            for name in others
            if current.device and state.disks.get(name, DiskState(None)).device == current.device
        ]
        if current.device is None:
            yield f"disk {disk} of pool {entry.name} does not exist (ls /dev/disk/by-id lists all disks)"
        elif current.device in owners:
            yield f"disk {disk} of pool {entry.name} already belongs to the pool {owners[current.device]}"
        elif twins or entry.disks.count(disk) > 1:
            yield f"disk {disk} of pool {entry.name} is given twice{f', also as {twins[0]}' if twins else ''}"
        elif (current.signs or current.label) and not ours:
            yield _holds(disk, entry.name, current)


def _holds(disk: str, pool: str, current: DiskState) -> str:
    contents = ", ".join(current.signs)
    if current.label:
        whose = f" of {current.label.hostname}" if current.label.hostname else ""
        was = "destroyed pool" if current.label.state == _DESTROYED else "pool"
        of_zfs = f"the ZFS {was} {current.label.pool}{whose}"
        contents = f"{of_zfs} ({contents})" if contents else of_zfs
    advice = f"if it is no longer needed: wipefs -a {shlex.quote(disk)}"
    if current.label and current.label.state != _DESTROYED:
        advice = f"to inspect it: zpool import; {advice}"
    return f"disk {disk} of pool {pool} holds {contents}; {advice}"


def _guid(entry: Pool, state: PoolsState) -> str | None:
    """Return the pool's guid if the labels of all disks have the same guid and this pool's name; else None."""
    labels = [state.disks.get(disk, DiskState(None)).label for disk in entry.disks]
    guids = {label.guid if label and label.pool == entry.name and label.state != _DESTROYED else "" for label in labels}
    return guids.pop() or None if len(guids) == 1 else None
