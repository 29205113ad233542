"""Create a user's first password on the nodes where users may log in without a job."""

import secrets
from collections.abc import Collection
from dataclasses import dataclass

from gpupool.cluster.logins import entry
from gpupool.cluster.model import Cluster
from gpupool.engine.report import Report
from gpupool.errors import UsageError
from gpupool.run.runner import DeployRunner

# without characters that look alike
_CHARACTERS = "abcdefghjkmnpqrstuvwxyz23456789"


@dataclass(frozen=True)
class CreatedPassword:
    """A password, the nodes that have it now (`given`), and the nodes where the user kept another one (`kept`)."""

    password: str
    given: tuple[str, ...]
    kept: tuple[str, ...]
    report: Report


def new_password() -> str:
    """Return a password of 79 bits that can be read aloud."""
    return "-".join("".join(secrets.choice(_CHARACTERS) for _ in range(4)) for _ in range(4))


def ensure_first_password(cluster: Cluster, user: str) -> None:
    """Raise UsageError unless the inventory has the user, with a first password."""
    known = cluster.users.get(user)
    if known is None:
        raise UsageError(f"there is no user {user!r} in the inventory")
    if not known.entry.first_password:
        raise UsageError(f"{user} has no first password in the inventory: set first_password: must_change")


def create_password(runner: DeployRunner, user: str, names: Collection[str] | None, *, reset: bool) -> CreatedPassword:
    """Create a user's first password on the nodes (among `names`) where users log in without a job.

    `reset` replaces a password that the user has set, too. UsageError without such a node.
    """
    target = runner.target
    logins = {node.name for node in target.nodes if entry(target.cluster, node) == "all"}
    logins &= logins if names is None else {*names}
    if not logins:
        raise UsageError("no node where users may log in without a job")
    runner.load()
    from gpupool.operations import passwords

    password = new_password()

    def steps() -> None:
        passwords.first(name="First password", user=user, password=passwords.Secret(password), reset=reset)

    report = runner.deploy(steps, logins, execute=True)
    given = tuple(name for name, host in report.hosts.items() if host.changes and name not in report.failures)
    kept = tuple(name for name in report.hosts if name not in (*given, *report.failures))
    return CreatedPassword(password, given, kept, report)
