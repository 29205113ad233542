"""Check file systems that the site mounts: gpupool only uses them, and no daemon of ours needs them to start."""

from collections.abc import Iterator
from typing import get_args

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.resolve.places import at
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.storage import Export, OfTheSite
from gpupool.unix import within

_OF_THE_SERVER = (
    "server",
    "path",
    "network",
    "dataset",
    "properties",
    "reservation",
    "snapshots",
    "options",
    "profile",
)


def ensure_site_mounts_have_no_server(site: Site) -> Iterator[Complaint]:
    """A file system that the site mounts has no settings of a server, and slurmctld's state is not on it."""
    for key, export in site.inventory.storage.exports.items():
        path: Path = ("storage", "exports", key)
        if export.mounted_by == "site":
            yield from _theirs(site, path, key, export)
        elif export.fs in get_args(OfTheSite):
            hint = "add mounted_by: site, and remove server and path"
            yield Complaint((*path, "fs"), f"gpupool does not mount {export.fs}", hint)
        else:
            message, hint = "is only for an export with mounted_by: site", "remove it, or add mounted_by: site"
            for option in ("made_on", "mount_point"):
                if getattr(export, option):
                    yield Complaint((*path, option), message, hint)


def ensure_site_mounts_are_above_their_directories(site: Site) -> Iterator[Complaint]:
    """An export that is a directory of the site's file system names the mount point above it, which is not /."""
    kinds: dict[str, tuple[str, str]] = {}
    exports = {key: export for key, export in site.inventory.storage.exports.items() if export.enabled}
    ours = {at(site, key): key for key, export in exports.items() if export.mounted_by == "gpupool"}
    for key, export in exports.items():
        if export.mounted_by != "site":
            continue
        path: Path = ("storage", "exports", key, "mount_point")
        place, above = at(site, key), export.mount_point or at(site, key)
        first, kind = kinds.setdefault(above, (key, export.fs))
        if above == "/":
            yield Complaint(path, "/ is always mounted, with or without the site's file system", "name its mount point")
        elif not within(place, above):
            yield Complaint(path, f"{place} is not below {above}", "name the mount point that contains `at`")
        elif export.mount_point and above in ours:
            yield Complaint(path, f"gpupool mounts {ours[above]} at {above}", "name the mount point of the site")
        elif kind != export.fs:
            other = f"{above} is {kind} for the export {first}, and {export.fs} here"
            yield Complaint((*path[:-1], "fs"), other, "write the same for both")


def _theirs(site: Site, path: Path, key: str, export: Export) -> Iterator[Complaint]:
    for option in _OF_THE_SERVER:
        if getattr(export, option):
            yield Complaint((*path, option), "has no effect: the site mounts it", "remove it")
    if export.squash != "root":
        yield Complaint((*path, "squash"), "has no effect: the site mounts it", "remove it")
    if export.fs == "zfs":
        yield Complaint((*path, "fs"), "zfs is a file system of one server", "name the kind that the nodes mount")
    if export.mode and not export.made_on:
        yield Complaint((*path, "mode"), f"no node creates directories on {key}", "add made_on, or remove it")
    if within(state := site.inventory.slurm.state, place := at(site, key)):
        message = f"slurmctld needs {state} to start, and gpupool does not mount {place}"
        yield Complaint(("slurm", "state"), message, "use an export that gpupool mounts")
    yield from _maker(site, (*path, "made_on"), key, export)


def _maker(site: Site, path: Path, key: str, export: Export) -> Iterator[Complaint]:
    node = site.node_table.by_name.get(export.made_on or "")
    if node is None:
        return
    if not node.entry.managed:
        yield Complaint(path, f"{node.name} is not managed, so gpupool creates nothing there", "name a managed node")
    if node.name not in site.nodes_of(export.mount_on or site.inventory.storage.mount_on):
        yield Complaint(path, f"{node.name} does not have {key}", "add it to mount_on, or name a node that has it")
