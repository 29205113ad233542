"""Paths of storage, as clients see them."""

import posixpath

from gpupool.cluster.resolve.site import Site
from gpupool.unix import within


def at(site: Site, key: str) -> str:
    """Return the mount point of an export."""
    return site.inventory.storage.exports[key].at or posixpath.join(site.inventory.storage.mount_root, key)


def behind_links(site: Site, path: str) -> str:
    """Return a client's path after following the inventory's links; unchanged if they form a cycle."""
    storage = site.inventory.storage
    links = {**storage.links, **space_links(site)}
    now = path
    for _ in range(len(links) + 1):
        link = max((path for path in links if within(now, path)), key=len, default=None)
        if link is None:
            return now
        now = f"{links[link]}{now[len(link) :]}"
    return path


def space_links(site: Site) -> dict[str, str]:
    """Return the target of each link to a lab's space."""
    storage = site.inventory.storage
    return {
        f"/srv/{account}/{space}": at(site, key)
        for account, spaces in storage.spaces.items()
        for space, key in spaces.items()
        if key in storage.exports
    }


def export_of(site: Site, path: str) -> str | None:
    """Return the export that contains a client's path, links followed; None for a local path."""
    real = behind_links(site, path)
    keys = [key for key in site.inventory.storage.exports if within(real, at(site, key))]
    return max(keys, key=lambda key: len(at(site, key)), default=None)


def on_server(site: Site, path: str) -> tuple[str, str]:
    """Return (server, path there) of a client's path; ("", path) for a local path.

    For an export that the site mounts, the server is a phrase for messages.
    """
    key = export_of(site, path)
    real = behind_links(site, path)
    export = site.inventory.storage.exports[key] if key else None
    if key and export and export.mounted_by == "site":
        return f"the site's {key}", real
    if key is None or export is None or export.server is None or export.path is None:
        return "", real
    return export.server, f"{export.path.rstrip('/')}{real[len(at(site, key)) :]}"


def fixed(path: str) -> str:
    """Return the directory at the beginning of a path that is the same for all users."""
    return posixpath.dirname(path.partition("{")[0]) if "{" in path else path
