"""Check storage for loss of data, controllers that hang, and quotas that no server enforces."""

import posixpath
import re
from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.resolve.places import at, export_of, fixed
from gpupool.cluster.resolve.pools import dataset_of
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.base import filled
from gpupool.cluster.schema.storage import Export
from gpupool.cluster.units import format_size
from gpupool.unix import within

_OPTION = re.compile(r"[a-z][a-z0-9_.]*(=[A-Za-z0-9_.:/-]+)?")
_SOFT = ("soft", "softerr", "softreval")
_OURS = ("hard", "atime", "noatime", "vers", "nfsvers", "minorversion", "retry", "bg", "fg", "_netdev")
_OF_UNITS = ("nofail", "auto", "noauto", "user", "users", "owner", "defaults", "bind", "remount")


def ensure_paths_are_plain(site: Site) -> Iterator[Complaint]:
    """A path of storage is in its shortest form, and needs no quotes in /etc/exports and unit files."""
    for path, value in _paths(site):
        if (better := posixpath.normpath(value)) != value or value.startswith("//"):
            yield Complaint(path, f"{value} is not in its shortest form", f"write {better.replace('//', '/')}")
        elif strange := re.search(r"[^A-Za-z0-9_@%+=:,./-]", value):
            yield Complaint(
                path, f"{value} contains {strange[0]!r}, which not every program accepts in a path", "rename it"
            )


def ensure_mount_points_are_unique(site: Site) -> Iterator[Complaint]:
    """No directory is exported twice, and no node mounts two exports at one place."""
    storage = site.inventory.storage
    exported: dict[tuple[str | None, str], str] = {}
    mounted: dict[str, list[tuple[str, frozenset[str]]]] = {}
    for key, export in storage.exports.items():
        path: Path = ("storage", "exports", key)
        if not export.enabled or (export.path is None and export.mounted_by == "gpupool"):
            continue
        if export.path and exported.setdefault((export.server, export.path), key) != key:
            first = exported[export.server, export.path]
            yield Complaint((*path, "path"), f"{export.path} of {export.server} is already the export {first}")
        place, nodes = at(site, key), site.nodes_of(export.mount_on or storage.mount_on) - {export.server or ""}
        for other, its in mounted.setdefault(place, []):
            if both := sorted(nodes & its):
                where = both[0] if len(both) == 1 else f"{both[0]} and {len(both) - 1} more"
                yield Complaint((*path, "at"), f"{where} would mount {other} and {key} at {place}", "set `at` for one")
                break
        mounted[place].append((key, nodes))


def ensure_exports_expose_no_other_export(site: Site) -> Iterator[Complaint]:
    """Clients of an export have the same access to exports below it, which they see through the same mount."""
    storage = site.inventory.storage
    exports = {
        key: export for key, export in storage.exports.items() if export.enabled and export.server and export.path
    }
    nodes = {
        key: site.nodes_of(export.mount_on or storage.mount_on) - {export.server} for key, export in exports.items()
    }
    for key, inner in exports.items():
        for other, outer in exports.items():
            if (
                outer.server != inner.server
                or outer.path == inner.path
                or not within(inner.path or "", outer.path or "/")
            ):
                continue
            path: Path = ("storage", "exports", key)
            hint = "put them in separate directories on the server"
            if more := sorted(nodes[other] - nodes[key]):
                who = more[0] if len(more) == 1 else f"{more[0]} and {len(more) - 1} more"
                yield Complaint(
                    (*path, "path"), f"{key} is inside {other}: {who} could read it through that mount", hint
                )
            elif outer.squash == "none" and inner.squash != "none":
                message = f"{key} is inside {other}, and that mount gives root of a client root access to it"
                yield Complaint((*path, "path"), message, hint)


def ensure_mount_options_lose_nothing(site: Site) -> Iterator[Complaint]:
    """No export has a soft mount, where programs lose data while the server is down, or an option that gpupool sets."""
    for key, export in site.inventory.storage.exports.items():
        for index, option in enumerate(export.options):
            path: Path = ("storage", "exports", key, "options", index)
            name = option.partition("=")[0]
            if name in _SOFT:
                message = f"{name}: programs would get I/O errors while the server is down, and lose what they wrote"
                yield Complaint(path, message, "remove it")
            elif name in _OURS or name in _OF_UNITS or name.startswith("x-systemd"):
                yield Complaint(path, f"{name} is set by gpupool", "remove it")
            elif not _OPTION.fullmatch(option):
                yield Complaint(path, f"{option!r} is not a single mount option", "write nconnect=4")


def ensure_squash_is_intended(site: Site) -> Iterator[Complaint]:
    """`squash: none`, with which root of a client can change all files, is reported; `all` is not for users' files.

    Backups need it. Their export is not reported if no users work on its clients: these have the originals.
    """
    storage = site.inventory.storage
    lived_in = {storage.home.export, *(name for spaces in storage.spaces.values() for name in spaces.values())}
    for key, export in storage.exports.items():
        path: Path = ("storage", "exports", key, "squash")
        if export.squash == "none" and not _only_for_backups(site, key):
            message = f"root on a node that mounts {key} can read and change all of it"
            yield Complaint(path, message, "write root, unless something needs this", "warning")
        elif export.squash == "all" and key in lived_in:
            yield Complaint(path, f"{key} holds users' files, and every user would be mapped to `nobody`", "write root")


def _only_for_backups(site: Site, key: str) -> bool:
    """Return whether an export has Slurm's backups, and only nodes of Slurm's daemons without users mount it."""
    backup, storage = site.inventory.slurm.backup, site.inventory.storage
    if backup is None or export_of(site, backup.to) != key:
        return False
    clients = site.nodes_of(storage.exports[key].mount_on or storage.mount_on)
    roles = {role for name in clients for role in site.node_table.by_name[name].entry.roles}
    return roles <= {"controller", "backup-controller", "database"}


def ensure_state_is_independent_of_labs(site: Site) -> Iterator[Complaint]:
    """slurmctld's state is outside of labs' spaces and of their servers, where a lab's load could stop Slurm."""
    storage, state = site.inventory.storage, site.inventory.slurm.state
    labs = {name for spaces in storage.spaces.values() for name in spaces.values()}
    servers = {export.server: name for name, export in storage.exports.items() if name in labs}
    for key, export in storage.exports.items():
        if not export.enabled or not within(state, at(site, key)):
            continue
        if key in labs:
            message = f"slurmctld's {state} would be inside {key}, a lab's space: Slurm stops when that is full"
            yield Complaint(("slurm", "state"), message, "give it its own export")
        elif export.server in servers:
            message = f"slurmctld's {state} is on {export.server}, which also serves the labs' {servers[export.server]}"
            hint = "Slurm stops whenever this server is overloaded or down"
            yield Complaint(("storage", "exports", key, "server"), message, hint, "warning")


def ensure_quotas_are_enforced(site: Site) -> Iterator[Complaint]:
    """A quota is enforced by ZFS on a declared pool, or by the site; otherwise it has no effect."""
    storage = site.inventory.storage
    if storage.driver != "nfs":
        return
    hint = "use an export with fs: zfs on a pool of storage.pools, or set quotas_by: site where its server enforces it"
    home = storage.exports.get(storage.home.export or "")
    if storage.home.quota and not _keeps_quotas(site, home):
        message = "nothing enforces the quota of homes"
        yield Complaint(("storage", "home", "quota"), message, hint, "warning")
    elif storage.home.files and not _keeps_quotas(site, home):
        yield Complaint(("storage", "home", "files"), "nothing enforces the number of files in homes", hint, "warning")
    for index, space in enumerate(storage.user_spaces):
        top = fixed(space.path)
        export = next((entry for key, entry in storage.exports.items() if within(top, at(site, key))), None)
        if space.quota and not _keeps_quotas(site, export):
            message = f"nothing enforces the quota of {top}"
            yield Complaint(("storage", "user_spaces", index, "quota"), message, hint, "warning")


def ensure_quotas_of_users_can_be_enforced(site: Site) -> Iterator[Complaint]:
    """`quotas_by` fits the server, and a user quota sets only what its file system has: ZFS has no soft quota."""
    storage = site.inventory.storage
    for key, export in storage.exports.items():
        path: Path = ("storage", "exports", key)
        quota = export.user_quota
        if export.quotas_by == "site" and _on_own_pool(site, export):
            message = f"{key} is on a pool whose quotas gpupool manages"
            yield Complaint((*path, "quotas_by"), message, "remove it")
        if quota is None:
            continue
        if key == storage.home.export:
            yield Complaint((*path, "user_quota"), f"{key} holds the homes", "set storage.home.quota instead")
        elif not _keeps_quotas(site, export) and storage.driver == "nfs":
            hint = "use fs: zfs on a pool of storage.pools, or set quotas_by: site where its server enforces it"
            yield Complaint((*path, "user_quota"), f"nothing enforces the quota of users on {key}", hint, "warning")
        if quota.soft and quota.soft >= quota.hard:
            message = f"soft {format_size(quota.soft)} is not below hard {format_size(quota.hard)}"
            yield Complaint((*path, "user_quota", "soft"), message)
        if quota.grace is not None and quota.soft is None:
            yield Complaint((*path, "user_quota", "grace"), "has no effect without `soft`", "set soft")
        if quota.soft and export.fs == "zfs":
            message = "ZFS has no soft quota: writes fail at `hard`, without a warning before"
            yield Complaint((*path, "user_quota", "soft"), message, "remove soft and grace")


def _keeps_quotas(site: Site, export: Export | None) -> bool:
    if export and "site" in (export.mounted_by, export.quotas_by):
        return True  # the site enforces it
    if export is None or export.server is None:
        return False
    server = site.node_table.by_name.get(export.server)
    if server and not server.entry.managed:
        return True  # the site enforces it
    return _on_own_pool(site, export)


def _on_own_pool(site: Site, export: Export) -> bool:
    if export.fs != "zfs" or export.server is None:
        return False
    return dataset_of(export, site.pools_on(export.server)) is not None


def _paths(site: Site) -> Iterator[tuple[Path, str]]:
    storage = site.inventory.storage
    yield ("storage", "mount_root"), storage.mount_root
    for key, export in storage.exports.items():
        for option, value in (("path", export.path), ("at", export.at), ("mount_point", export.mount_point)):
            if value is not None:
                yield ("storage", "exports", key, option), value
    for key, pool in storage.pools.items():
        if pool.at is not None:
            yield ("storage", "pools", key, "at"), pool.at
    for link, target in storage.links.items():
        yield ("storage", "links", link), link
        yield ("storage", "links", link), target
    for index, local in enumerate(storage.local):
        yield ("storage", "local", index, "path"), local.path
    for index, purge in enumerate(storage.purge):
        yield ("storage", "purge", index, "path"), purge.path
    for index, space in enumerate(storage.user_spaces):
        yield ("storage", "user_spaces", index, "path"), filled(space.path)
    yield ("storage", "home", "path"), filled(storage.home.path)
    yield ("slurm", "state"), site.inventory.slurm.state
