"""Check the site's own files: gpupool writes no other file there, and only root can change them."""

from collections.abc import Iterator

from gpupool.cluster.attachments import FILES
from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.resolve.our_paths import is_ours
from gpupool.cluster.resolve.places import export_of, space_links
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.site_files import SiteFile
from gpupool.unix import within

_TOPS = ("/etc", "/opt", "/usr/local")
#: Files in which a mistake keeps all admins out, with the way to write them.
_LOCKS = {
    "/etc/sudoers": "write it on nodes yourself, with visudo",
    "/etc/sudoers.d": "write it on nodes yourself, with visudo -f",
    "/etc/ssh/sshd_config": "use /etc/ssh/sshd_config.d/NAME.conf, which sshd checks first",
}
_SET_ID_OR_SHARED = 0o7022
#: Services that gpupool reloads and restarts for its own files.
_MANAGED = frozenset(
    f"{name}.service"
    for name in (
        *("slurmctld", "slurmd", "slurmdbd", "sackd", "munge", "mariadb", "nginx", "nfs-server", "sssd", "docker"),
        *("systemd-logind", "systemd-timesyncd"),
    )
)


def ensure_files_have_a_source(site: Site) -> Iterator[Complaint]:
    """Each source is a file of the inventory's folder `files`, and each of these files is used."""
    used = set()
    for index, entry in enumerate(site.inventory.files):
        used.add(name := f"{FILES}/{entry.source}")
        if name not in site.attached:
            yield Complaint(("files", index, "source"), f"there is no file {name} in the inventory", "create it")
    for name in sorted(site.attached):
        if name.startswith(f"{FILES}/") and name not in used:
            yield Complaint(("files",), f"no node gets {name}", "add an entry for it, or remove it", "warning")


def ensure_files_are_only_the_sites(site: Site) -> Iterator[Complaint]:
    """gpupool, users and other entries write none of the site's files, and a mistake in them keeps no admin out."""
    taken: dict[str, list[frozenset[str]]] = {}
    for index, entry in enumerate(site.inventory.files):
        path: Path = ("files", index)
        if message := _not_free(site, entry.path):
            yield Complaint((*path, "path"), *message)
        if int(entry.mode, 8) & _SET_ID_OR_SHARED:
            yield Complaint((*path, "mode"), f"{entry.mode} lets others than root change it or gain its rights", "0644")
        nodes = site.nodes_of(entry.where)
        for other, theirs in taken.items():
            both = sorted(node for group in theirs for node in nodes & group)
            if both and (within(entry.path, other) or within(other, entry.path)):
                yield Complaint((*path, "path"), f"{both[0]} gets another file at {other}", "choose another path")
                break
        taken.setdefault(entry.path, []).append(nodes)


def _not_free(site: Site, path: str) -> tuple[str, str] | None:
    if is_ours(path):
        return f"gpupool itself writes {path}, or needs it", "choose another path"
    if lock := next((place for place in _LOCKS if within(path, place)), None):
        return f"a mistake in {path} keeps all admins out", _LOCKS[lock]
    if not any(within(path, top) and path != top for top in _TOPS):
        return f"{path} is not below {', '.join(_TOPS)}", "other directories may have files of users and programs"
    if key := export_of(site, path):
        return f"{path} is on the export {key}, where it would be for all nodes", "choose a path on nodes' own disks"
    if taken := next((place for place in _directories(site) if within(path, place)), None):
        return f"{taken} is a directory or link of the inventory", "choose another path"
    return None


def _directories(site: Site) -> Iterator[str]:
    storage, conda = site.inventory.storage, site.inventory.software.conda
    yield from (*storage.links, *space_links(site), *(local.path for local in storage.local))
    yield from (pool.at or f"/{pool.name or key}" for key, pool in storage.pools.items())
    if conda and conda.installer:
        yield conda.installer.prefix


def ensure_reloads_are_of_other_services(site: Site) -> Iterator[Complaint]:
    """A file reloads a service that gpupool does not reload for its own files; sshd is the exception."""
    for index, entry in enumerate(site.inventory.files):
        if trouble := _not_reloaded(entry):
            yield Complaint(("files", index, "reload"), *trouble)


def _not_reloaded(entry: SiteFile) -> tuple[str, str] | None:
    unit = entry.unit or ""
    if unit == "sshd.service":
        return "sshd is another name of the service ssh", "write ssh"
    if unit in _MANAGED or "gpupool" in unit:
        return f"gpupool itself decides when {unit} is reloaded", "remove it, and reload the service yourself"
    if (entry.reload or "").endswith((".socket", ".timer", ".path", ".target", ".mount", ".slice", ".scope")):
        return f"{entry.reload} is not a service", "only services are reloaded"
    return None
