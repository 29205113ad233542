"""Accounts whose users are members of groups in the directory, and the record of each such user in slurmdbd."""

from datetime import date

from gpupool.cluster.model import Cluster
from gpupool.compile.slurm.accounting import entity_of
from gpupool.compile.system.directory import DOMAIN
from gpupool.wanted import Roster


def roster_for(cluster: Cluster, today: date | None = None) -> Roster | None:
    """Return the roster of accounts with members from the directory; None without a directory or such accounts."""
    directory = cluster.directory
    if directory is None or not cluster.newcomers:
        return None
    day = today or date.today()
    return Roster(
        domain=DOMAIN,
        groups={
            name: account.entry.members_from for name, account in cluster.accounts.items() if account.entry.members_from
        },
        first=directory.ids.first,
        last=directory.ids.last,
        listed=frozenset(cluster.users),
        users={account: entity_of(cluster, user, day) for account, user in cluster.newcomers.items()},
        max_removals=directory.max_removals,
    )
