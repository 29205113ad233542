"""Demonstrate the features of a cluster on its testbed.

usage: python -m show [--head | --member] INVENTORY
"""

import sys
from pathlib import Path

from gpupool.cluster.accounts import User
from gpupool.cluster.model import Cluster
from gpupool.errors import GpupoolError
from gpupool.target import find_target
from show import asleep, budget, container, fairshare, fence, overcap
from show.shell import Shell, out
from tests.testbed.cluster import Testbed


def member(cluster: Cluster) -> User:
    """Return a member of the account with the largest cap, or of the first account without caps."""
    largest = max(cluster.accounts.values(), key=lambda account: account.limits.group.gpu or 0)
    members = (user for user in cluster.users.values() if user.account == largest.name)
    return next(members, next(iter(cluster.users.values())))


def main() -> None:
    """Show everything, or print one name for scripts. GpupoolError without a testbed, or if a demonstration fails."""
    *options, inventory = sys.argv[1:]
    target = find_target(Path(inventory), "testbed")
    cluster = target.cluster
    head = next(node.name for node in target.nodes if node.has("head"))
    user = member(cluster)
    if "--head" in options:
        print(head)
        return
    if "--member" in options:
        print(user.name)
        return
    if target.testbed is None:
        raise GpupoolError("no testbed")
    shell = Shell(Testbed(Path(inventory), target), head, user.name)
    out.print()
    shell.type("sinfo -o '%20P %5a %.10l %6D %t'")
    shell.type('sinfo -o "%f %N"')
    for part in (asleep, fence, container, overcap, fairshare, budget):
        if part.fits(cluster):
            part.show(cluster, shell)


if __name__ == "__main__":
    try:
        main()
    except GpupoolError as error:
        sys.exit(str(error))
