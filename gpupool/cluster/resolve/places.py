"""Where the parts of storage are, as clients see it."""

import posixpath

from gpupool.cluster.resolve.site import Site
from gpupool.unix import within


def at(site: Site, key: str) -> str:
    """Return where clients mount an export."""
    return site.inventory.storage.exports[key].at or posixpath.join(site.inventory.storage.mount_root, key)


def behind_links(site: Site, path: str) -> str:
    """Return a client's path with the links of the inventory followed; as it is where they lead in a circle."""
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
    """Return the links to labs' spaces, link to target."""
    storage = site.inventory.storage
    return {
        f"/srv/{account}/{space}": at(site, key)
        for account, spaces in storage.spaces.items()
        for space, key in spaces.items()
        if key in storage.exports
    }


def export_of(site: Site, path: str) -> str | None:
    """Return the export on which a client's path lies, links followed; None for a node's own."""
    real = behind_links(site, path)
    keys = [key for key in site.inventory.storage.exports if within(real, at(site, key))]
    return max(keys, key=lambda key: len(at(site, key)), default=None)


def on_server(site: Site, path: str) -> tuple[str, str]:
    """Return (server, path there) of a client's path; ("", path) of one on no export.

    What the site mounts is on no node: its server is the export itself, in words.
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
    """Return the part of a path that is the same for everybody."""
    return posixpath.dirname(path.partition("{")[0]) if "{" in path else path
