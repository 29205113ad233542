"""Host lists, Slurm's notation for many names: `a[01-03,7],r[1-2]n[1-2]-ib` is nine names.

slurm.conf(5) and scontrol(1) describe it. Other numbered names, such as device files in gres.conf, have the same
notation.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import prod

#: The maximum number of names of a host list. A longer list is a mistake and would need too much memory.
MOST = 100_000
_WORD = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_PART = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?", re.ASCII)
# the last nine digits at most: a longer number is not the number of a node, so its first digits belong to the name
_NUMBERED = re.compile(r"(.*?)([0-9]{1,9})", re.DOTALL)
_NUMBERS = re.compile(r"([0-9]{1,18})")
_Range = tuple[str, str]  # the first and the last number, with leading zeros


def expand(text: str) -> list[str]:
    """Return the names of a host list in its order; none for an empty list.

    Numbers have as many digits as the first number of their range. ValueError if the text is not a host list, or has
    more than `MOST` names.
    """
    if not text:
        return []
    words = [list(_parts(word, text)) for word in _words(text)]
    size = sum(prod(sum(map(_count, part)) if isinstance(part, list) else 1 for part in word) for word in words)
    if size > MOST:
        raise ValueError(f"{text[:80]!r} is a host list of {size} names; the maximum is {MOST}")
    return [
        "".join(name)
        for word in words
        for name in product(*([part] if isinstance(part, str) else _numbers(part) for part in word))
    ]


def expanded(text: str) -> list[str]:
    """Return the names of a host list; any other text, such as an admin's invalid line, is returned as one name."""
    try:
        return expand(text)
    except ValueError:
        return [text]


def fold(names: Iterable[str]) -> str:
    """Return names as a host list that `expand` and Slurm read in the same order.

    Brackets are only at the end of a name: slurm.conf(5) accepts them nowhere else in NodeName.
    """
    folded: list[tuple[str, list[_Range]]] = []  # the text before the numbers, and their ranges
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


def fold_set(names: Iterable[str]) -> str:
    """Return names as a host list without duplicates.

    Names with numbers are first, sorted by their text and then their numbers; the others keep their order.
    """
    once = dict.fromkeys(names)
    numbered = [name for name in once if _NUMBERED.fullmatch(name)]
    return fold([*sorted(numbered, key=_by_text), *(name for name in once if not _NUMBERED.fullmatch(name))])


def one_each(values: Sequence[str], count: int) -> list[str]:
    """Return the values of `count` nodes: slurmctld takes a single NodeAddr for all names of a line (tried on 24.11).

    Several values are returned as they are: slurmctld refuses another number of them than of names.
    """
    return [*values] * count if len(values) == 1 else [*values]


def fold_each(values: Sequence[str]) -> str:
    """Return the values of several nodes as a host list, or as a single value if they are all alike."""
    return fold(values[:1] if len(set(values)) == 1 else values)


def by_number(name: str) -> tuple[list[str | int], str]:
    """Return a key that sorts names by their numbers: a2 before a10."""
    parts = enumerate(_NUMBERS.split(name))
    return [int(part) if place % 2 else part for place, part in parts], name


def _by_text(name: str) -> tuple[list[str], list[int], str]:
    parts = _NUMBERS.split(name)
    return parts[::2], [int(number) for number in parts[1::2]], name


def _words(text: str) -> list[str]:
    words = _WORD.findall(text)
    if ",".join(words) != text:
        raise ValueError(f"{text[:80]!r} is not a host list: its brackets or commas do not match")
    return words


def _parts(word: str, text: str) -> Iterator[str | list[_Range]]:
    """Yield the parts of a word: text as it is, or the ranges within brackets."""
    for inside, plain in _PART.findall(word):
        if plain:
            yield plain
            continue
        ranges = [_RANGE.fullmatch(part) for part in inside.split(",")]
        if not all(ranges):
            raise ValueError(f"{text[:80]!r} is not a host list: [{inside[:40]}] is not a list of numbers and ranges")
        yield [(match[1], match[2] or match[1]) for match in ranges if match]


def _count(numbers: _Range) -> int:
    first, last = map(int, numbers)
    if first > last:
        raise ValueError(f"[{numbers[0]}-{numbers[1]}] is not a range of a host list: its last number is the smaller")
    return last - first + 1


def _numbers(ranges: list[_Range]) -> list[str]:
    return [f"{number:0{len(first)}}" for first, last in ranges for number in range(int(first), int(last) + 1)]


def _append(ranges: list[_Range], number: str) -> None:
    first, last = ranges[-1]
    follows = number == f"{int(last) + 1:0{len(first)}}"
    # if the first number of a range has leading zeros, all its numbers have the same length
    if follows and not (first != "0" and first[0] == "0" and len(number) > len(first)):
        ranges[-1] = (first, number)
    else:
        ranges.append((number, number))


def _word(before: str, ranges: list[_Range]) -> str:
    inside = ",".join(first if first == last else f"{first}-{last}" for first, last in ranges)
    return f"{before}[{inside}]" if {",", "-"} & set(inside) else f"{before}{inside}"
