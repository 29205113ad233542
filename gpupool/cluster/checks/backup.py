"""Check where backups of Slurm's own data are kept."""

from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint
from gpupool.cluster.resolve.places import at, behind_links, export_of, fixed, on_server
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.resolve.system_paths import is_the_systems
from gpupool.unix import within

_TO = ("slurm", "backup", "to")
_ELSEWHERE = "use a directory on an export of another machine"


def ensure_controllers_have_a_backup(site: Site) -> Iterator[Complaint]:
    """Slurm's own data of a cluster with a controller is copied each night: the inventory cannot restore it."""
    controllers = [entry for entry in site.inventory.nodes if "controller" in entry.roles]
    if site.inventory.slurm.backup is None and any("backup" in site.managed_roles(entry) for entry in controllers):
        message = "no backup: with the controller's disk, all usage, all limits of accounting and the queue are lost"
        yield Complaint(("slurm", "backup"), message, "set slurm.backup, on an export of another machine", "warning")


def ensure_backups_have_a_separate_directory(site: Site) -> Iterator[Complaint]:
    """The directory of backups is not written by users, not purged, and not inside the originals."""
    backup, storage = site.inventory.slurm.backup, site.inventory.storage
    if backup is None:
        return
    to, state = behind_links(site, backup.to), site.inventory.slurm.state
    hint = "choose a directory that is used for nothing else"
    if is_the_systems(backup.to, whole=True):
        yield Complaint(_TO, f"{backup.to} belongs to the operating system", hint)
    if within(to, state) or within(state, to):
        yield Complaint(_TO, f"{backup.to} and slurmctld's {state} overlap", hint)
    for place in _of_users(site):
        if within(to, place) or within(place, to):
            yield Complaint(_TO, f"{backup.to} and {place}, where users write, overlap", hint)
    for rule in storage.purge:
        if within(to, behind_links(site, rule.path)):
            yield Complaint(_TO, f"storage.purge removes old files below {rule.path}, backups included", hint)


def ensure_backups_can_be_written(site: Site) -> Iterator[Complaint]:
    """Backups are on an export to which root of the controller and of the database can write, not on a local disk."""
    backup, storage = site.inventory.slurm.backup, site.inventory.storage
    if backup is None:
        return
    key, (server, _) = export_of(site, backup.to), on_server(site, backup.to)
    if key is None:
        message = f"{backup.to} is on the nodes' own disks: backups would be lost together with the originals"
        yield Complaint(_TO, message, _ELSEWHERE, "warning")
        return
    export = storage.exports[key]
    writers = [node.name for node in site.node_table.nodes if {"database", "controller"} & {*node.entry.roles}]
    if server in writers:
        message = f"{backup.to} is on {server}, whose own data it is to save: both would be lost together"
        yield Complaint(_TO, message, _ELSEWHERE, "warning")
    clients = site.nodes_of(export.mount_on or storage.mount_on)
    for name in writers:
        if name != server and name not in clients:
            message = f"{name} does not mount {key}, which holds {backup.to}"
            yield Complaint(_TO, message, f"add it to storage.exports.{key}.mount_on")
        elif name != server and not export.takes_root:
            message = f"root of {name} cannot write to {key}, which has squash: {export.squash}"
            hint = f"give backups a separate export that only {' and '.join(writers)} mount, with squash: none"
            yield Complaint(_TO, message, hint)


def _of_users(site: Site) -> Iterator[str]:
    storage = site.inventory.storage
    yield fixed(storage.home.path)
    yield from (fixed(space.path) for space in storage.user_spaces)
    labs = {key for spaces in storage.spaces.values() for key in spaces.values()} | {storage.home.export}
    yield from (at(site, key) for key in labs if key in storage.exports)
