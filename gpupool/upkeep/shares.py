"""Shares that labs may lack while nodes are out of service, if all other labs use all that they own."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from gpupool.cluster.accounts import Account
from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node

GPUS = "GPUs"


@dataclass(frozen=True)
class Share:
    """The share of an account: `owned` GPUs, CPUs or nodes (`unit`), and how many its jobs may use on each node (`at`).

    `whole`: no other account owns a part of the nodes. `lab` is false for an account that only has a limit.
    """

    account: str
    owned: int
    at: Mapping[str, int]
    unit: str = GPUS
    whole: bool = False
    lab: bool = True


def shares_of(cluster: Cluster) -> tuple[Share, ...]:
    """Return the shares of all labs, and of other accounts with a limit of GPUs, in inventory order."""
    return tuple(_shares(cluster))


def losses(shares: Sequence[Share], out: Collection[str]) -> dict[str, int]:
    """Return how much of its share each lab may lack, in the worst case, because these nodes are out of service.

    Worst case: every other owner uses all that it may on the nodes that the lab could use. A lack that exists even with
    all nodes in service is not counted.
    """
    return {share.account: _lack(share, shares, out) - _lack(share, shares, ()) for share in shares if share.lab}


def worst(shares: Sequence[Share], nodes: Collection[str], at_most: int, out: Collection[str] = ()) -> dict[str, int]:
    """Return how much each lab may lack if any `at_most` of `nodes` are out of service besides the nodes in `out`.

    A node costs a lab at most as much as the lab could use there.
    """
    most = {}
    for share in shares:
        if share.lab:
            heaviest = sum(sorted((share.at.get(name, 0) for name in nodes), reverse=True)[:at_most])
            left = max(0, _free(share, shares, out) - heaviest)
            most[share.account] = max(0, share.owned - left) - _lack(share, shares, ())
    return most


def _lack(lab: Share, shares: Sequence[Share], out: Collection[str]) -> int:
    return max(0, lab.owned - _free(lab, shares, out))


def _free(lab: Share, shares: Sequence[Share], out: Collection[str]) -> int:
    """Return how much is free for a lab if all other owners use all that they may."""
    in_service = {name: count for name, count in lab.at.items() if count and name not in out}
    if lab.whole:
        return sum(in_service.values())
    others = [other for other in shares if other is not lab and other.unit == lab.unit and not other.whole]
    # nodes that the same owners may use equally are counted as one kind
    kinds = Counter(
        (count, *(min(other.at.get(name, 0), count) for other in others)) for name, count in in_service.items()
    )
    room = tuple(number * kind[0] for kind, number in kinds.items())
    links = tuple(tuple(number * kind[1 + n] for kind, number in kinds.items()) for n in range(len(others)))
    taken = most_taken(tuple(other.owned for other in others), links, room)
    return sum(room) - taken


@lru_cache(maxsize=10_000)
def most_taken(owned: tuple[int, ...], links: tuple[tuple[int, ...], ...], room: tuple[int, ...]) -> int:
    """Return how much all owners can use at once: the maximum flow, by augmenting paths.

    An owner uses at most its `owned`, and its `links` on each kind of nodes; all owners together use at most the `room`
    of a kind. If a kind has nothing free, another owner moves to another kind.
    """
    left, free = list(owned), list(room)
    used = [[0] * len(room) for _ in owned]

    def path(owner: int, seen: set[int]) -> list[tuple[int, int]] | None:
        """Return (owner, kind) steps: the first owner gets more of its kind, each next owner moves to another kind."""
        for kind in range(len(room)):
            if kind in seen or used[owner][kind] >= links[owner][kind]:
                continue
            seen.add(kind)
            if free[kind]:
                return [(owner, kind)]
            for other in range(len(owned)):
                if other != owner and used[other][kind] and (rest := path(other, seen)):
                    return [(owner, kind), *rest]
        return None

    for owner in range(len(owned)):
        while left[owner] and (steps := path(owner, set())):
            room_left = [
                free[steps[-1][1]],
                left[owner],
                *(links[step][kind] - used[step][kind] for step, kind in steps),
            ]
            amount = min(*room_left, *(used[steps[n][0]][steps[n - 1][1]] for n in range(1, len(steps))))
            for n, (holder, kind) in enumerate(steps):
                used[holder][kind] += amount
                if n:
                    used[holder][steps[n - 1][1]] -= amount
            free[steps[-1][1]] -= amount
            left[owner] -= amount
    return sum(owned) - sum(left)


def _shares(cluster: Cluster) -> Iterator[Share]:
    for account in cluster.accounts.values():
        lab = account.entry.kind == "lab"
        gpus = cluster.owned_gpus(account)
        if account.nodes:
            nodes = [cluster.nodes[name] for name in account.nodes if name in cluster.nodes]
            if gpus:
                yield Share(account.name, gpus, {node.name: node.gpu_count for node in nodes}, whole=True, lab=lab)
            else:
                yield Share(account.name, len(nodes), {node.name: 1 for node in nodes}, "nodes", True, lab)
        elif cpus := account.owns.get("cpu"):
            at = {node.name: node.job_cpus for node in _nodes(cluster, account)}
            yield Share(account.name, cpus, at, "CPUs", lab=lab)
        elif gpus and (lab or not _below_another(cluster, account)):
            yield Share(account.name, gpus, _gpus_at(cluster, account), lab=lab)


def _below_another(cluster: Cluster, account: Account) -> bool:
    """Return whether a parent account has a GPU limit, which includes the jobs of this account."""
    above = cluster.with_parents(account.name)[1:]
    return any(cluster.accounts[name].limits.group.gpu is not None for name in above)


def _gpus_at(cluster: Cluster, account: Account) -> dict[str, int]:
    types = account.owns.keys()
    usable = {node.name: node.gpus for node in _nodes(cluster, account)}
    return {
        name: sum(count for gpu, count in gpus.items() if not types or gpu in types) for name, gpus in usable.items()
    }


def _nodes(cluster: Cluster, account: Account) -> list[Node]:
    """Return the compute nodes where jobs of an account, or of accounts below it, run without being preempted."""
    names = {name for name in cluster.accounts if account.name in cluster.with_parents(name)}
    chosen = {
        node
        for partition in cluster.partitions.values()
        if not partition.preemptable and any(cluster.admits(partition, name) for name in names)
        for node in partition.nodes
    }
    return [node for node in cluster.having("compute") if node.name in chosen]
