"""What Debian and gpupool keep for themselves, and what they take: places, names, fields of passwd."""

from collections.abc import Iterator

from gpupool import unix_names
from gpupool.cluster.checks.places import fixed, is_the_systems, within
from gpupool.cluster.checks.site import Site
from gpupool.cluster.complaints import Complaint, Path


def ensure_the_system_keeps_its_places(site: Site) -> Iterator[Complaint]:
    """No directory of the system is given away, mounted over, purged, or another's."""
    storage = site.inventory.storage
    named: list[tuple[Path, str, bool]] = [
        (("slurm", "state"), site.inventory.slurm.state, True),
        (("storage", "mount_root"), storage.mount_root, False),
        (("storage", "home", "path"), fixed(storage.home.path), False),
    ]
    for key, export in storage.exports.items():
        path: Path = ("storage", "exports", key)
        server = site.census.by_name.get(export.server or "")
        ours = export.fs != "ceph" and (server is None or server.entry.managed)
        named += [((*path, "path"), export.path, False)] if export.path and ours else []
        named += [((*path, "at"), export.at, False)] if export.at else []
    for key, pool in storage.pools.items():
        path = ("storage", "pools", key)
        named.append(((*path, "at") if pool.at else path, pool.at or f"/{pool.name or key}", False))
    named += [(("storage", "local", i, "path"), it.path, True) for i, it in enumerate(storage.local)]
    named += [(("storage", "purge", i, "path"), it.path, True) for i, it in enumerate(storage.purge)]
    for path, place, whole in named:
        if is_the_systems(place, whole=whole):
            yield Complaint(path, f"{place} is the system's own", "take a directory that is for nothing else")


def ensure_slurms_state_is_its_own(site: Site) -> Iterator[Complaint]:
    """What slurmctld keeps is nobody else's, and its path means the same to all that read it."""
    state = site.inventory.slurm.state
    if "%" in state:
        yield Complaint(("slurm", "state"), f"{state} has '%', which has a meaning of its own for Slurm", "rename it")
    controllers = {it.name for it in site.census.nodes if {"controller", "backup-controller"} & {*it.entry.roles}}
    for index, local in enumerate(site.inventory.storage.local):
        if within(local.path, state) and controllers & site.nodes_of(local.where):
            yield Complaint(("storage", "local", index, "path"), f"{local.path} is slurmctld's own (slurm.state)")


def ensure_debian_takes_the_names(site: Site) -> Iterator[Complaint]:
    """Users, groups and packages have names that Debian takes; case is looked at elsewhere."""
    it = site.inventory
    for index, user in enumerate(it.users):
        if not unix_names.USER.fullmatch(user.name.lower()):
            words = f"{user.name} is no name for a user: 32 small letters, digits, _, ., -, the first no digit"
            yield Complaint(("users", index, "name"), words)
    for index, account in enumerate(it.accounts):
        if account.gid is not None and not unix_names.GROUP.fullmatch(account.name.lower()):
            words = f"{account.name} is no name for a group: 32 small letters, digits, _, ., -, the first no digit"
            yield Complaint(("accounts", index, "name"), words, "without a gid it needs no group")
    for role, packages in it.software.packages.items():
        for index, package in enumerate(packages):
            if not unix_names.PACKAGE.fullmatch(package):
                words = f"{package!r} is no name of a Debian package"
                yield Complaint(("software", "packages", role, index), words, "the name alone, without a version")


def ensure_passwd_holds_the_users(site: Site) -> Iterator[Complaint]:
    """What is a field of passwd has no colon."""
    for index, user in enumerate(site.inventory.users):
        for key, value in (("full_name", user.full_name), ("shell", user.shell)):
            if value and unix_names.breaks_passwd(value):
                yield Complaint(("users", index, key), f"{value!r} has a colon, which ends a field of passwd")
    if unix_names.breaks_passwd(home := site.inventory.storage.home.path):
        yield Complaint(("storage", "home", "path"), f"{home} has a colon, which ends a field of passwd", "rename it")
