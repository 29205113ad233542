"""The roles that `manage` names: the modules of `gpupool.roles`, each for one purpose of a node."""

from typing import Annotated, Literal, get_args

from pydantic import Field

ManagedRole = Literal[
    "accounts",
    "arbiter",
    "backup",
    "base",
    "budgets",
    "compute",
    "conda",
    "controller",
    "database",
    "directory",
    "docker",
    "drift",
    "driver",
    "elastic",
    "fileserver",
    "firewall",
    "gpu",
    "head",
    "health",
    "images",
    "jobs",
    "login",
    "modules",
    "munge",
    "people",
    "reaper",
    "reboot",
    "repositories",
    "sessions",
    "singularity",
    "site_files",
    "slurm",
    "spaces",
    "ssh",
    "steps",
    "storage",
    "tools",
    "usage",
    "web",
]
#: All roles, sorted.
ROLES: tuple[str, ...] = get_args(ManagedRole)
Manage = Annotated[tuple[ManagedRole, ...], Field(min_length=1)]
