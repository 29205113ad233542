"""Slurm's hostlists in an order that counts, and node lines folded by them: one line for nodes that are alike.

slurm.conf(5) gives the first of NodeHostname and of NodeAddr to the first of NodeName, the second to the second, and
so on, so all three are written in the inventory's order; a set of nodes is `names.folded`.
"""

import re
from collections.abc import Iterable
from itertools import groupby

# more digits than a machine's number has; what stands before them belongs to the name
_NUMBERED = re.compile(r"(.*?)(\d{1,9})")
_NODE = re.compile(r"NodeName=(\S+)(?: NodeHostname=(\S+))?(?: NodeAddr=(\S+))?(.*)")


def hostlist(names: Iterable[str]) -> str:
    """Return names as a hostlist that Slurm reads in this very order; `slurm.keys.hostlist` is the way back."""
    folded: list[tuple[str, list[tuple[str, str]]]] = []  # what stands before the numbers; ranges, first and last
    for name in names:
        numbered = _NUMBERED.fullmatch(name)
        before, number = numbered.groups() if numbered else (name, "")
        if not number:
            folded.append((name, []))
        elif not folded or folded[-1][0] != before or not folded[-1][1]:
            folded.append((before, [(number, number)]))
        else:
            _append(folded[-1][1], number)
    return ",".join(_word(before, ranges) for before, ranges in folded)


def _append(ranges: list[tuple[str, str]], number: str) -> None:
    first, last = ranges[-1]
    follows = number == f"{int(last) + 1:0{len(first)}}"
    # a range whose first number has zeros before it has numbers of one length
    if follows and not (first != "0" and first[0] == "0" and len(number) > len(first)):
        ranges[-1] = (first, number)
    else:
        ranges.append((number, number))


def _word(before: str, ranges: list[tuple[str, str]]) -> str:
    inside = ",".join(first if first == last else f"{first}-{last}" for first, last in ranges)
    return f"{before}[{inside}]" if {",", "-"} & set(inside) else f"{before}{inside}"


def by_number(name: str) -> tuple[list[str | int], str]:
    """Return what a name is sorted by so that a2 stands before a10."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)], name


def node_lines(lines: Iterable[str]) -> list[str]:
    """Fold lines of one node each that follow each other and differ in name, host name and address only."""
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
    pairs = [f"{key}={hostlist(values)}" for key, values in zip(keys, lists, strict=True) if values[0]]
    return " ".join(pairs) + nodes[0][-1]
