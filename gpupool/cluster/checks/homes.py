"""Check that no two users share a home or a directory in a user space, and that homes are in their export."""

from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.resolve.places import at
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.base import of_user
from gpupool.unix import within


def ensure_directories_of_users_differ(site: Site) -> Iterator[Complaint]:
    """A path pattern contains the user's name or id, and gives a different path for each user."""
    storage = site.inventory.storage
    named: list[tuple[Path, str]] = [(("storage", "home", "path"), storage.home.path)]
    named += [(("storage", "user_spaces", i, "path"), space.path) for i, space in enumerate(storage.user_spaces)]
    for path, pattern in named:
        if "{user}" not in pattern and "{id}" not in pattern:
            whose_too = "several users" if "[0]" in pattern else "all users"
            yield Complaint(path, f"{pattern} is the same directory for {whose_too}", "use {user} in it")
            continue
        whose: dict[str, str] = {}
        for user in site.inventory.users:
            own = of_user(pattern, user.name, user.account)
            if "//" in own:
                message = f"{user.name} has no domain, but {pattern} needs one"
                yield Complaint(path, message, "name all users like u-vision1@example.org, or remove {domain}")
                break
            if whose.setdefault(own, user.name) != user.name:
                yield Complaint(
                    path, f"{own} would be the directory of both {whose[own]} and {user.name}", "use {user} in it"
                )
                break


def ensure_homes_are_in_their_export(site: Site) -> Iterator[Complaint]:
    """Homes are inside the export that `storage.home.export` names, not behind a link."""
    storage, key = site.inventory.storage, site.inventory.storage.home.export
    if key in storage.exports and not within(storage.home.path, place := at(site, key)):
        message = f"{storage.home.path} is not inside the export {key}, which is mounted at {place}"
        yield Complaint(("storage", "home", "path"), message, f"write {place.rstrip('/')}/{{user}}")
