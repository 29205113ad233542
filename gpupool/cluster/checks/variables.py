"""Check that users can create the directories that variables of logins and jobs name, such as $SCRATCH."""

from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint
from gpupool.cluster.resolve.places import behind_links, export_of
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.base import of_user
from gpupool.cluster.schema.labs import User
from gpupool.unix import within

_OPEN = ("/tmp", "/var/tmp", "/dev/shm")  # to all users, on every Debian
_WRITE = 0o002


def ensure_users_can_create_their_directories(site: Site) -> Iterator[Complaint]:
    """Each user has or can create the directory of a variable with `{user}`, unless the site mounts its file system."""
    environment, seen = site.inventory.environment, set[tuple[str, str]]()
    for kind, variables in (("login", environment.login), ("job", environment.job)):
        for name, value in variables.items():
            if not value.startswith("/") or "{user}" not in value or (name, value) in seen:
                continue
            seen.add((name, value))
            without = [user for user in site.inventory.users if not _can_create(site, user, _of(value, user))]
            if without:
                first, others = without[0], len(without) - 1
                more = f", and {others} other user{'s' * (others > 1)} not theirs" if others else ""
                message = f"{first.name} cannot create {_of(value, first)}{more}"
                hint = "let storage.user_spaces create it, give each lab a space there, or set the export's mode: 1777"
                yield Complaint(("environment", kind, name), message, hint, "warning")


def _of(value: str, user: User) -> str:
    return of_user(value, user.name, user.account)


def _can_create(site: Site, user: User, path: str) -> bool:
    """Return whether a user has a directory at the path of a client, or above it one with the right to write."""
    storage, real = site.inventory.storage, behind_links(site, path)
    own = [_of(storage.home.path, user), *(_of(space.path, user) for space in storage.user_spaces)]
    own += [f"{local.path}/{user.name}" for local in storage.local if local.user_dirs]
    own += [local.path for local in storage.local if not local.user_dirs and int(local.mode, 8) & _WRITE]
    if any(within(real, behind_links(site, place)) for place in (*own, *_OPEN)):
        return True
    key = export_of(site, real)
    if key is None:
        return False
    export = storage.exports[key]
    if export.mounted_by == "site" or (export.mode and int(export.mode, 8) & _WRITE):
        return True
    spaces = (storage.spaces.get(account, {}) for account in (user.account, *user.accounts))
    return any(key in keys.values() for keys in spaces)
