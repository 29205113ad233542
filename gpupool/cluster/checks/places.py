"""Where things of storage lie, as clients see it."""

import posixpath

from gpupool.cluster.checks.site import Site


def at(site: Site, key: str) -> str:
    """Give where clients mount an export."""
    return site.inventory.storage.exports[key].at or posixpath.join(site.inventory.storage.mount_root, key)


def within(path: str, place: str) -> bool:
    """Tell whether a path is a place, or lies below it."""
    return path == place or path.startswith(f"{place.rstrip('/')}/")


def fixed(path: str) -> str:
    """Give the part of a path that is the same for everybody."""
    return posixpath.dirname(path.partition("{")[0]) if "{" in path else path
