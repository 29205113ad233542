"""Fold lines of nodes in slurm.conf: one line for consecutive nodes that are alike.

slurm.conf(5) pairs NodeName, NodeHostname and NodeAddr by position, so all three are host lists in the inventory's
order. A single host name or address stands for all names of a line.
"""

import re
from collections.abc import Iterable
from itertools import groupby

from gpupool.slurm.hostlists import fold, fold_each

_NODE = re.compile(r"NodeName=(\S+)(?: NodeHostname=(\S+))?(?: NodeAddr=(\S+))?(.*)")


def node_lines(lines: Iterable[str]) -> list[str]:
    """Fold lines of consecutive nodes that differ in name, host name and address only."""
    return [_folded(list(run)) for _, run in groupby(map(_split, lines), key=_alike)]


def _split(line: str) -> tuple[str, ...]:
    match = _NODE.fullmatch(line)
    assert match, line
    return match.groups("")


def _alike(node: tuple[str, ...]) -> tuple[bool, bool, str]:
    _, machine, address, rest = node
    return bool(machine), bool(address), rest


def _folded(nodes: list[tuple[str, ...]]) -> str:
    keys = ("NodeName", "NodeHostname", "NodeAddr")
    lists = [[node[place] for node in nodes] for place in range(len(keys))]
    folds = (fold, fold_each, fold_each)
    pairs = [f"{key}={of(values)}" for key, of, values in zip(keys, folds, lists, strict=True) if values[0]]
    return " ".join(pairs) + nodes[0][-1]
