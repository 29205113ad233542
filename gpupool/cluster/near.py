"""The name that was meant by a misspelt one."""

from collections.abc import Iterable

_SHORT = 3  # letters of a word in which two wrong ones leave nothing to go by


def misspelt(word: str, known: Iterable[str]) -> list[str]:
    """Return the nearest known name, alone in a list, if one or two letters are wrong, missing or swapped; else []."""
    most = 1 if len(word) <= _SHORT else 2
    near = ((_distance(word.lower(), name.lower()), name) for name in known if abs(len(name) - len(word)) <= most)
    return [name for distance, name in [min(near, default=(most + 1, ""))] if distance <= most]


def _distance(one: str, other: str) -> int:
    """Return how many letters are to be changed, added, removed or swapped with the next to make one the other."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        now = [row]
        for column, wanted in enumerate(other, 1):
            least = min(last[column] + 1, now[-1] + 1, last[column - 1] + (letter != wanted))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == wanted:
                least = min(least, before[column - 2] + 1)
            now.append(least)
        before, last = last, now
    return last[-1]
