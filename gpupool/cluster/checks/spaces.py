"""Check spaces, links and purges: only members write in a lab's space, and no purge removes what must stay."""

import re
from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.near import misspelt
from gpupool.cluster.resolve.places import at, export_of, fixed, on_server, space_links
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.units import format_duration
from gpupool.unix import within

_DAY = 86400


def ensure_spaces_are_the_labs(site: Site) -> Iterator[Complaint]:
    """Only the members of a lab may create directories at the top of its space."""
    storage, mode = site.inventory.storage, int(site.inventory.storage.space_rules.mode, 8)
    path: Path = ("storage", "space_rules", "mode")
    if not mode & 0o020:
        yield Complaint(path, f"{mode:04o}: no member could create a directory there", "write 3775")
    elif mode & 0o002:
        yield Complaint(path, f"{mode:04o}: all users of the cluster could write there", "write 3775")
    elif not mode & 0o1000:
        yield Complaint(path, f"{mode:04o}: members could remove each other's directories", "write 3775", "warning")
    yield from _modes_of_exports(site)
    for index, account in enumerate(site.inventory.accounts):
        if account.gid is None and storage.spaces.get(account.name):
            message = f"{account.name} has a space but no gid: all accounts without a gid would share its group"
            yield Complaint(("accounts", index), message, "set a gid")


def _modes_of_exports(site: Site) -> Iterator[Complaint]:
    storage = site.inventory.storage
    labs = {key: account for account, spaces in storage.spaces.items() for key in spaces.values()}
    for key, export in storage.exports.items():
        path: Path = ("storage", "exports", key, "mode")
        if export.mode and key in labs:
            message = f"{labs[key]} has a space on {key}, where storage.space_rules.mode applies"
            yield Complaint(path, message, "remove it")
        elif export.mode and int(export.mode, 8) & 0o1002 == 0o002:
            yield Complaint(path, f"{export.mode}: users could remove each other's directories", "write 1777")


def ensure_targets_of_links_are_known(site: Site) -> Iterator[Complaint]:
    """The target of a link below storage.mount_root is on an export or in a directory of storage.local."""
    storage = site.inventory.storage
    places = [at(site, key) for key in storage.exports] + [local.path for local in storage.local]
    for link, target in storage.links.items():
        if within(target, storage.mount_root) and not any(within(target, place) for place in places):
            near = misspelt(target, places)
            hint = f"did you mean {near[0]}?" if near else None
            yield Complaint(
                ("storage", "links", link), f"{target} is not the mount point of an export", hint, "warning"
            )


def ensure_paths_of_links_are_free(site: Site) -> Iterator[Complaint]:
    """No export is mounted and no local directory is created at the path of a link, such as that to a lab's space."""
    storage = site.inventory.storage
    places = {at(site, key): f"the mount point of the export {key}" for key in storage.exports}
    places |= {local.path: "a directory of storage.local" for local in storage.local}
    for link in {**storage.links, **space_links(site)}:
        if link in places:
            path: Path = ("storage", "links", link) if link in storage.links else ("storage", "spaces")
            yield Complaint(path, f"{link} is {places[link]}, so it cannot be a link", "rename one of them")


def ensure_directories_of_users_are_on_storage(site: Site) -> Iterator[Complaint]:
    """Directories of users and of purges are on a mounted export or in a directory of storage.local."""
    storage = site.inventory.storage
    places = [at(site, key) for key, export in storage.exports.items() if export.enabled]
    places += [local.path for local in storage.local]
    links = {**storage.links, **space_links(site)}
    named = [(("storage", "user_spaces", i, "path"), fixed(space.path)) for i, space in enumerate(storage.user_spaces)]
    named += [(("storage", "purge", i, "path"), rule.path) for i, rule in enumerate(storage.purge)]
    for path, top in named:
        if any(within(top, place) for place in places):
            continue
        link = next((path for path in links if within(top, path)), None)
        near = misspelt(top, places)
        hint = f"did you mean {near[0]}?" if near else None
        if link:
            hint = f"{link} is a link: write {links[link]}{top[len(link) :]}"
        yield Complaint(path, f"{top} is not on a mounted export or in a directory of storage.local", hint)


def ensure_purges_spare_other_files(site: Site) -> Iterator[Complaint]:
    """A purge spares homes, other exports and slurmctld's state, keeps files for a day, and warns in time."""
    for index, purge in enumerate(site.inventory.storage.purge):
        path: Path = ("storage", "purge", index)
        for place in _purged_too(site, purge.path):
            yield Complaint((*path, "path"), f"would remove files of {place}", "choose another directory")
        if purge.not_updated_for < _DAY:
            message = f"{format_duration(purge.not_updated_for)}: running jobs would lose their files"
            yield Complaint((*path, "not_updated_for"), message, "at least 1d")
        if purge.warn_before is not None and not purge.every <= purge.warn_before < purge.not_updated_for:
            message = f"{format_duration(purge.warn_before)}: not a useful time for a warning"
            hint = f"at least {format_duration(purge.every)}, and less than {format_duration(purge.not_updated_for)}"
            yield Complaint((*path, "warn_before"), message, hint)
        if not purge.every:
            yield Complaint((*path, "every"), "must be longer than 0", "write 1d")


def _purged_too(site: Site, path: str) -> Iterator[str]:
    """Yield descriptions of other data that a purge of a directory would remove; paths are compared on the server."""
    storage = site.inventory.storage
    own = export_of(site, path)
    server, place = on_server(site, path)
    for label, kept in (("users' homes", fixed(storage.home.path)), ("slurmctld's state", site.inventory.slurm.state)):
        host, real = on_server(site, kept)
        if server == host and _reached(site, own, place, export_of(site, kept), real):
            yield f"{label} ({kept if kept == real else f'{kept}, which is {real} on {host}'})"
    local = [directory for directory in storage.local if within(place, directory.path)] if own is None else []
    for key, export in storage.exports.items():
        here = (
            server == export.server
            if own
            else any(export.server in site.nodes_of(directory.where) for directory in local)
        )
        if key != own and here and export.path and _reached(site, own, place, key, export.path):
            yield f"export {key} ({export.path} on {export.server})"


def _reached(site: Site, own: str | None, place: str, other: str | None, real: str) -> bool:
    """Return whether one directory is inside the other, on one file system; each ZFS export is a separate one."""
    exports = site.inventory.storage.exports
    inner = other if within(real, place) else own if within(place, real) else None
    if inner is None:
        return _touch(place, real)
    return own == other or exports[inner].fs != "zfs"


def _touch(one: str, other: str) -> bool:
    """Return whether one directory is inside the other."""
    return within(one, other) or within(other, one)


def ensure_usage_is_a_file_name(site: Site) -> Iterator[Complaint]:
    """The usage report has a plain file name, and is written at most once a day."""
    report = site.inventory.storage.usage_report
    if report and not re.fullmatch(r"[\w.-]*\w[\w.-]*", report.file):
        yield Complaint(("storage", "usage_report", "file"), f"{report.file!r} is not a file name", "disk-usage.txt")
    if report and report.every < _DAY:
        message = f"the report would read every file each {format_duration(report.every)}"
        yield Complaint(("storage", "usage_report", "every"), message, "at least 1d")
