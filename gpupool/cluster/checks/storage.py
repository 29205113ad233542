"""Storage that would lose data, hang a controller, or promise what nobody keeps."""

import difflib
import posixpath
import re
from collections.abc import Iterator

from gpupool.cluster.checks.site import Site
from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.pools import dataset_of
from gpupool.cluster.schema.storage import Export
from gpupool.cluster.words import format_duration

_OPTION = re.compile(r"[a-z][a-z0-9_.]*(=[A-Za-z0-9_.:/-]+)?")
_SOFT = ("soft", "softerr", "softreval")
_OURS = ("hard", "atime", "noatime", "vers", "nfsvers", "minorversion", "retry", "bg", "fg", "_netdev")
_OF_UNITS = ("nofail", "auto", "noauto", "user", "users", "owner", "defaults", "bind", "remount")
_DAY = 86400


def ensure_paths_are_plain(site: Site) -> Iterator[Complaint]:
    """A path of storage is written in one way, and stands in /etc/exports and in unit files without quotes."""
    for path, value in _paths(site):
        if (better := posixpath.normpath(value)) != value or value.startswith("//"):
            yield Complaint(path, f"{value} is not the shortest way to say it", f"write {better.replace('//', '/')}")
        elif strange := re.search(r"[^A-Za-z0-9_@%+=:,./-]", value):
            yield Complaint(path, f"{value} has {strange[0]!r}, which not all that read it take", "rename it")


def ensure_mounts_have_their_own_place(site: Site) -> Iterator[Complaint]:
    """No directory is exported twice, and no node mounts two exports at one place."""
    storage = site.inventory.storage
    exported: dict[tuple[str | None, str], str] = {}
    mounted: dict[str, list[tuple[str, frozenset[str]]]] = {}
    for key, export in storage.exports.items():
        path: Path = ("storage", "exports", key)
        if not export.enabled or export.path is None:
            continue
        if exported.setdefault((export.server, export.path), key) != key:
            first = exported[export.server, export.path]
            yield Complaint((*path, "path"), f"{export.path} of {export.server} is the export {first} already")
        at, nodes = _at(site, key), site.nodes_of(export.mount_on or storage.mount_on) - {export.server or ""}
        for other, its in mounted.setdefault(at, []):
            if both := sorted(nodes & its):
                where = both[0] if len(both) == 1 else f"{both[0]} and {len(both) - 1} more"
                yield Complaint((*path, "at"), f"{where} would mount {other} and {key} at {at}", "say `at` for one")
                break
        mounted[at].append((key, nodes))


def ensure_mount_options_lose_nothing(site: Site) -> Iterator[Complaint]:
    """A server that is away makes programs wait; how, and what gpupool says itself, is not for an export to say."""
    for key, export in site.inventory.storage.exports.items():
        for index, option in enumerate(export.options):
            path: Path = ("storage", "exports", key, "options", index)
            name = option.partition("=")[0]
            if name in _SOFT:
                words = f"{name}: programs would take a server that is away for a broken disk, and lose what they wrote"
                yield Complaint(path, words, "leave it out")
            elif name in _OURS or name in _OF_UNITS or name.startswith("x-systemd"):
                yield Complaint(path, f"{name} is gpupool's to say", "leave it out")
            elif not _OPTION.fullmatch(option):
                yield Complaint(path, f"{option!r} is not one option of a mount", "write nconnect=4")


def ensure_squash_is_meant(site: Site) -> Iterator[Complaint]:
    """Root of a client is nobody on the server; without that a break-in on one node is one on the server's files."""
    storage = site.inventory.storage
    lived_in = {storage.home.export, *(name for spaces in storage.spaces.values() for name in spaces.values())}
    for key, export in storage.exports.items():
        path: Path = ("storage", "exports", key, "squash")
        if export.squash == "none":
            words = f"who becomes root on a node that mounts {key} may read and change all of it"
            yield Complaint(path, words, "root, unless something needs it", "warning")
        elif export.squash == "all" and key in lived_in:
            yield Complaint(path, f"{key} is people's own: all of them would be nobody there", "write root")


def ensure_state_hangs_on_no_lab(site: Site) -> Iterator[Complaint]:
    """What slurmctld writes at every step lies where no lab's work can slow it down."""
    storage, state = site.inventory.storage, site.inventory.slurm.state
    labs = {name for spaces in storage.spaces.values() for name in spaces.values()}
    servers = {export.server: name for name, export in storage.exports.items() if name in labs}
    for key, export in storage.exports.items():
        if not export.enabled or not _within(state, _at(site, key)):
            continue
        if key in labs:
            words = f"slurmctld's {state} would be in {key}, a lab's space: when that is full or slow, so is Slurm"
            yield Complaint(("slurm", "state"), words, "give it an export of its own")
        elif export.server in servers:
            words = f"slurmctld's {state} is on {export.server}, beside the labs' {servers[export.server]}"
            hint = "Slurm stands still while that server does"
            yield Complaint(("storage", "exports", key, "server"), words, hint, "warning")


def ensure_quotas_are_kept(site: Site) -> Iterator[Complaint]:
    """A quota of users is kept by zfs, on a declared pool; elsewhere it is only a word."""
    storage = site.inventory.storage
    if storage.driver != "nfs":
        return
    hint = "an export with fs: zfs on a pool of storage.pools keeps it"
    home = storage.exports.get(storage.home.export or "")
    if storage.home.quota and not _keeps_quotas(site, home):
        words = "nothing keeps people from having more in their homes"
        yield Complaint(("storage", "home", "quota"), words, hint, "warning")
    for index, space in enumerate(storage.user_spaces):
        top = _fixed(space.path)
        export = next((it for key, it in storage.exports.items() if _within(top, _at(site, key))), None)
        if space.quota and not _keeps_quotas(site, export):
            words = f"nothing keeps people from having more in {top}"
            yield Complaint(("storage", "user_spaces", index, "quota"), words, hint, "warning")


def ensure_spaces_of_users_are_somewhere(site: Site) -> Iterator[Complaint]:
    """Directories of users, and those that are purged, lie on an export or are a node's own."""
    storage = site.inventory.storage
    places = [_at(site, key) for key, export in storage.exports.items() if export.enabled]
    places += [local.path for local in storage.local]
    links = {**storage.links, **_space_links(site)}
    named = [(("storage", "user_spaces", i, "path"), _fixed(it.path)) for i, it in enumerate(storage.user_spaces)]
    named += [(("storage", "purge", i, "path"), it.path) for i, it in enumerate(storage.purge)]
    for path, top in named:
        if any(_within(top, place) for place in places):
            continue
        link = next((it for it in links if _within(top, it)), None)
        near = difflib.get_close_matches(top, places, n=1)
        hint = f"did you mean {near[0]}?" if near else None
        if link:
            hint = f"{link} is a link: write {links[link]}{top[len(link) :]}"
        yield Complaint(path, f"{top} is on no export that is mounted, and no directory of storage.local", hint)


def ensure_purges_spare_people(site: Site) -> Iterator[Complaint]:
    """Nothing goes by itself in or above homes, at slurmctld's state, or on the day it was made."""
    storage = site.inventory.storage
    kept = {"people's homes": _fixed(storage.home.path), "slurmctld's state": site.inventory.slurm.state}
    for index, purge in enumerate(storage.purge):
        path: Path = ("storage", "purge", index)
        for what, place in kept.items():
            if _within(place, purge.path) or _within(purge.path, place):
                yield Complaint((*path, "path"), f"would remove files of {what} ({place})", "take another directory")
        if purge.not_updated_for < _DAY:
            words = f"{format_duration(purge.not_updated_for)}: jobs lose files that they still work on"
            yield Complaint((*path, "not_updated_for"), words, "at least 1d")
        if not purge.every:
            yield Complaint((*path, "every"), "never ends", "write 1d")


def ensure_spaces_are_the_labs(site: Site) -> Iterator[Complaint]:
    """The members of a lab, and nobody else, may make directories at the top of its space."""
    storage, mode = site.inventory.storage, int(site.inventory.storage.space_rules.mode, 8)
    path: Path = ("storage", "space_rules", "mode")
    if not mode & 0o020:
        yield Complaint(path, f"{mode:04o}: no member could make a directory there", "write 3775")
    elif mode & 0o002:
        yield Complaint(path, f"{mode:04o}: all users of the cluster could write there", "write 3775")
    elif not mode & 0o1000:
        yield Complaint(path, f"{mode:04o}: members could remove each other's directories", "write 3775", "warning")
    for index, account in enumerate(site.inventory.accounts):
        if account.gid is None and storage.spaces.get(account.name):
            words = f"{account.name} has a space and no gid: it would be that of all accounts without one"
            yield Complaint(("accounts", index), words, "give it a gid")


def ensure_links_lead_somewhere(site: Site) -> Iterator[Complaint]:
    """What a link leads to below storage.mount_root is an export."""
    storage = site.inventory.storage
    places = [_at(site, key) for key in storage.exports] + [local.path for local in storage.local]
    for link, target in storage.links.items():
        if _within(target, storage.mount_root) and not any(_within(target, place) for place in places):
            near = difflib.get_close_matches(target, places, n=1)
            hint = f"did you mean {near[0]}?" if near else None
            yield Complaint(("storage", "links", link), f"{target} is no export's place", hint, "warning")


def ensure_usage_is_a_file_name(site: Site) -> Iterator[Complaint]:
    """The report's file has a plain name and comes now and then."""
    report = site.inventory.storage.usage_report
    if report and not re.fullmatch(r"[\w.-]*\w[\w.-]*", report.file):
        yield Complaint(("storage", "usage_report", "file"), f"{report.file!r} is no file's name", "disk-usage.txt")
    if report and report.every < _DAY:
        words = f"every {format_duration(report.every)} a look at every file"
        yield Complaint(("storage", "usage_report", "every"), words, "at least 1d")


def _at(site: Site, key: str) -> str:
    return site.inventory.storage.exports[key].at or posixpath.join(site.inventory.storage.mount_root, key)


def _within(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place.rstrip('/')}/")


def _fixed(path: str) -> str:
    """Give the part of a path that is the same for everybody."""
    return posixpath.dirname(path.partition("{")[0]) if "{" in path else path


def _keeps_quotas(site: Site, export: Export | None) -> bool:
    if export is None or export.fs != "zfs" or export.server is None:
        return False
    return dataset_of(export, site.pools_on(export.server)) is not None


def _space_links(site: Site) -> dict[str, str]:
    storage = site.inventory.storage
    return {
        f"/srv/{account}/{space}": _at(site, key)
        for account, spaces in storage.spaces.items()
        for space, key in spaces.items()
        if key in storage.exports
    }


def _paths(site: Site) -> Iterator[tuple[Path, str]]:
    storage = site.inventory.storage
    yield ("storage", "mount_root"), storage.mount_root
    for key, export in storage.exports.items():
        for said, value in (("path", export.path), ("at", export.at)):
            if value is not None:
                yield ("storage", "exports", key, said), value
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
