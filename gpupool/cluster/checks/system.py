"""Check that directories are not the system's or slurmctld's, and that Debian accepts names and passwd fields."""

from collections.abc import Iterator

from gpupool import unix
from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.resolve.places import fixed
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.resolve.system_paths import is_the_systems
from gpupool.unix import within

_NEVER_PINNED = ("slurm", "sackd", "munge", "libslurm", "libmunge", "mariadb")


def ensure_system_directories_are_not_used(site: Site) -> Iterator[Complaint]:
    """No setting uses a directory of the operating system; slurm.state may, where `slurm.left` has place."""
    storage, slurm = site.inventory.storage, site.inventory.slurm
    named: list[tuple[Path, str, bool]] = [
        *([] if "place" in slurm.left else [(("slurm", "state"), slurm.state, True)]),
        (("storage", "mount_root"), storage.mount_root, False),
        (("storage", "home", "path"), fixed(storage.home.path), False),
    ]
    for key, export in storage.exports.items():
        path: Path = ("storage", "exports", key)
        server = site.node_table.by_name.get(export.server or "")
        ours = export.fs != "ceph" and (server is None or server.entry.managed)
        named += [((*path, "path"), export.path, False)] if export.path and ours else []
        named += [((*path, "at"), export.at, False)] if export.at else []
    for key, pool in storage.pools.items():
        path = ("storage", "pools", key)
        named.append(((*path, "at") if pool.at else path, pool.at or f"/{pool.name or key}", False))
    named += [(("storage", "local", i, "path"), local.path, True) for i, local in enumerate(storage.local)]
    named += [(("storage", "purge", i, "path"), rule.path, True) for i, rule in enumerate(storage.purge)]
    for path, place, whole in named:
        if is_the_systems(place, whole=whole):
            yield Complaint(
                path, f"{place} belongs to the operating system", "choose a directory that is used for nothing else"
            )


def ensure_slurms_state_is_separate(site: Site) -> Iterator[Complaint]:
    """slurm.state is used by slurmctld alone, and contains no `%`, which Slurm would replace."""
    state = site.inventory.slurm.state
    if "%" in state:
        yield Complaint(("slurm", "state"), f"{state} contains '%', which Slurm would replace", "rename it")
    controllers = {
        node.name for node in site.node_table.nodes if {"controller", "backup-controller"} & {*node.entry.roles}
    }
    for index, local in enumerate(site.inventory.storage.local):
        if within(local.path, state) and controllers & site.nodes_of(local.where):
            yield Complaint(
                ("storage", "local", index, "path"), f"{local.path} is the state directory of slurmctld (slurm.state)"
            )


def ensure_debian_accepts_the_names(site: Site) -> Iterator[Complaint]:
    """Users, groups and packages have names that Debian accepts; another check looks at upper case."""
    inventory = site.inventory
    for index, user in enumerate(inventory.users):
        if not unix.USER.fullmatch(user.name.lower()):
            message = (
                f"{user.name} is not a valid user name: up to 32 lower-case letters, digits, _, . and -, not starting "
                "with a digit"
            )
            yield Complaint(("users", index, "name"), message)
    for index, account in enumerate(inventory.accounts):
        if account.gid is not None and not unix.GROUP.fullmatch(account.name.lower()):
            message = (
                f"{account.name} is not a valid group name: up to 32 lower-case letters, digits, _, . and -, not "
                "starting with a digit"
            )
            yield Complaint(("accounts", index, "name"), message, "without a gid it needs no group")
    for role, packages in inventory.software.packages.items():
        for index, package in enumerate(packages):
            name, pinned, version = package.partition("=")
            path = ("software", "packages", role, index)
            if not unix.PACKAGE.fullmatch(name):
                message = f"{name!r} is not a valid Debian package name"
                yield Complaint(path, message, "write the name, or name=version")
            elif pinned and not unix.VERSION.fullmatch(version):
                yield Complaint(path, f"{version!r} is not a version of a Debian package", "see `apt-cache policy`")
            elif pinned and name.startswith(_NEVER_PINNED):
                message = f"{name} cannot have a version here: daemons and commands of all nodes must fit together"
                yield Complaint(path, message, "write the name without a version")


def ensure_packages_have_one_version(site: Site) -> Iterator[Complaint]:
    """A package of several roles has the same version in all of them, because a node may have all these roles."""
    versions: dict[str, str] = {}
    for role, packages in site.inventory.software.packages.items():
        for index, package in enumerate(packages):
            name, pinned, version = package.partition("=")
            if pinned and versions.setdefault(name, version) != version:
                message = f"{name} has version {versions[name]} for other nodes"
                yield Complaint(("software", "packages", role, index), message, "a package has one version")


def ensure_fields_of_passwd_have_no_colon(site: Site) -> Iterator[Complaint]:
    """Fields of passwd contain no colon."""
    for index, user in enumerate(site.inventory.users):
        for key, value in (("full_name", user.full_name), ("shell", user.shell)):
            if value and unix.breaks_passwd(value):
                yield Complaint(("users", index, key), f"{value!r} contains a colon, which separates fields of passwd")
    if unix.breaks_passwd(home := site.inventory.storage.home.path):
        yield Complaint(
            ("storage", "home", "path"), f"{home} contains a colon, which separates fields of passwd", "rename it"
        )
