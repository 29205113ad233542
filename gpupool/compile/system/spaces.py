"""Top directories of labs' spaces, homes and users' folders, on the nodes that create them, as plain data."""

from collections.abc import Iterator

from gpupool.cluster.accounts import User
from gpupool.cluster.model import Cluster
from gpupool.cluster.mount import Mount
from gpupool.cluster.node import Node
from gpupool.cluster.schema.base import of_user
from gpupool.compile.of_user import for_double_quotes
from gpupool.compile.template import fill
from gpupool.unix import PEOPLE_GID, within
from gpupool.wanted import File, Folder, Space

VARIABLES = "/etc/profile.d/gpupool-spaces.sh"


def tops_for(cluster: Cluster, node: Node) -> list[Space]:
    """Return the top directories of a fileserver: of exports with labs' spaces or a mode, and of accounts' user spaces.

    If labs share an export, no lab's group owns it: each lab may write by ACL, and its files have the lab's group, so
    the set-gid bit is left out.
    """
    tops: dict[str, Space] = {}
    for mount, path in _kept(cluster, node):
        accounts = [name for name, spaces in cluster.storage.spaces.items() if mount.export in spaces.values()]
        if accounts:
            tops[path] = _top(cluster, path, accounts)
        elif mount.entry.mode:
            tops[path] = Space(path, 0, mount.entry.mode)
    for path, account in _parts(cluster, node):
        tops.setdefault(path, Space(path, _gid(cluster, account), "3770"))
    return list(tops.values())


def members_for(cluster: Cluster, node: Node) -> dict[str, int]:
    """Return the paths of members' folders in the spaces that a node keeps, path -> uid.

    Members create these folders, but another user who may write there may have created one before.
    """
    owners: dict[str, int] = {}
    called = cluster.storage.space_rules.user_dir
    for mount, path in _kept(cluster, node):
        labs = {name for name, spaces in cluster.storage.spaces.items() if mount.export in spaces.values()}
        for user in cluster.users.values():
            if labs & {user.account, *user.accounts}:
                owners[f"{path}/{called.replace('{user}', user.name)}"] = user.uid
    return owners


def _kept(cluster: Cluster, node: Node) -> Iterator[tuple[Mount, str]]:
    """Yield the exports that a node keeps, each with its path there."""
    for mount in cluster.mounts:
        if mount.server == node.name:
            yield mount, mount.path
        elif cluster.drivers.testbed and mount.server not in cluster.nodes and node.name in mount.nodes[:1]:
            # In a testbed without the server, its first client keeps the export.
            yield mount, mount.at


def _top(cluster: Cluster, path: str, accounts: list[str]) -> Space:
    mode, gids = cluster.storage.space_rules.mode, sorted({_gid(cluster, name) for name in accounts})
    if len(gids) == 1:
        return Space(path, gids[0], mode)
    return Space(path, 0, f"{int(mode, 8) & ~0o2000:04o}", tuple(gids))


def _parts(cluster: Cluster, node: Node) -> Iterator[tuple[str, str]]:
    """Yield (path on the server, account) of the directories between an export and users' folders."""
    for space in cluster.storage.user_spaces:
        above = space.path.rpartition("/")[0]
        # Directories for the first letters of names are skipped.
        while (last := above.rpartition("/"))[2] in ("{user[0]}", "{id[0]}"):
            above = last[0]
        if "{account}" not in above or "{user" in above or "{id" in above:
            continue
        for account in dict.fromkeys(user.account for user in cluster.users.values()):
            if path := _here(cluster, node, of_user(above, "", account)):
                yield path, account


def folders_for(cluster: Cluster, node: Node) -> list[Folder]:
    """Return the users' folders on a node: in the user spaces that it serves, and in its local directories."""
    folders: dict[str, Folder] = {}
    for user in cluster.users.values():
        gid = user.gid or PEOPLE_GID
        for space in cluster.storage.user_spaces:
            at = of_user(space.path, user.name, user.account)
            path = _here(cluster, node, at)
            if path and at != user.home:
                # Users of one account may read each other's files.
                folders[path] = Folder(path, user.uid, gid, "2750")
        for local in cluster.storage.local:
            if local.user_dirs and node.name in cluster.select(local.where):
                path = f"{local.path}/{user.name}"
                folders[path] = Folder(path, user.uid, gid, local.mode)
    return list(folders.values())


def homes_for(cluster: Cluster, node: Node) -> list[Folder]:
    """Return the homes that a node creates: shared ones on their server, local ones where those are not mounted."""
    shared, mode = cluster.home_export, cluster.policies.home_mode or cluster.storage.home.mode
    paths: dict[str, User] = {}
    for user in cluster.users.values():
        if shared and shared.server == node.name:
            paths[user.home.replace(shared.at, shared.path, 1)] = user
        if _lets_people_in(cluster, node) and (shared is None or node.name not in shared.clients):
            paths[user.home if shared is None else f"/home/{user.name}"] = user
    return [Folder(path, space.uid, space.gid or PEOPLE_GID, mode, space.entry.keys) for path, space in paths.items()]


def members_homes(cluster: Cluster, node: Node) -> list[str]:
    """Return the paths, with {user}, of homes that a node creates for members from the directory."""
    shared, pattern = cluster.home_export, cluster.storage.home.path
    if not cluster.newcomers:
        return []
    paths = [pattern.replace(shared.at, shared.path, 1)] if shared and shared.server == node.name else []
    if _lets_people_in(cluster, node) and (shared is None or node.name not in shared.clients):
        paths.append(pattern if shared is None else "/home/{user}")
    return list(dict.fromkeys(paths))


def _lets_people_in(cluster: Cluster, node: Node) -> bool:
    if node.has("fileserver"):
        return cluster.access.fileserver_ssh == "open"
    if node.has("head", "compute", "gateway"):
        return True
    return node.has("controller", "backup-controller") and cluster.access.controller_ssh == "open"


def skeleton(cluster: Cluster) -> dict[str, str]:
    """Return the files of a new home, besides those of the node's /etc/skel."""
    conda = cluster.software.conda
    prefix = conda.installer.prefix if conda and conda.installer else ""
    return {".bashrc": fill("skel.bashrc", prefix=prefix)} if conda and conda.bashrc_hook else {}


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the profile that sets the variables of user spaces in login shells, where these are mounted."""
    mounted = [mount for mount in cluster.mounts if node.name in mount.clients]
    named = [(space.env, space.path) for space in cluster.storage.user_spaces if space.env]
    here = [
        (name, for_double_quotes(path))
        for name, path in named
        if any(mount.holds(path.partition("{")[0].rstrip("/")) for mount in mounted)
    ]
    if here:
        warned = [name for name, path in named if _is_warned(cluster, path.partition("{")[0].rstrip("/"))]
        warned = [name for name in warned if name in dict(here)]
        yield File(VARIABLES, fill("spaces.sh", cluster=cluster, spaces=here, warned=warned))


def _is_warned(cluster: Cluster, top: str) -> bool:
    return any(rule.warn_before and within(top, rule.path) for rule in cluster.storage.purge)


def _here(cluster: Cluster, node: Node, at: str) -> str | None:
    """Return the path that a client's path has on the node that keeps its export; None on other nodes."""
    kept = [(mount, path) for mount, path in _kept(cluster, node) if mount.holds(at)]
    mount, path = max(kept, key=lambda pair: len(pair[0].at), default=(None, ""))
    return f"{path.rstrip('/')}{at.removeprefix(mount.at)}" if mount else None


def _gid(cluster: Cluster, account: str) -> int:
    return cluster.accounts[account].entry.gid or PEOPLE_GID
