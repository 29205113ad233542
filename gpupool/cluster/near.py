"""Find the known name that a misspelt one probably means."""

from collections.abc import Iterable

_SHORT = 3  # letters: in such a short word, only one may be wrong


def misspelt(word: str, known: Iterable[str]) -> list[str]:
    """Return a list with the nearest known name if one or two letters are wrong, missing or swapped; else []."""
    most = 1 if len(word) <= _SHORT else 2
    near = ((_distance(word.lower(), name.lower()), name) for name in known if abs(len(name) - len(word)) <= most)
    return [name for distance, name in [min(near, default=(most + 1, ""))] if distance <= most]


def _distance(one: str, other: str) -> int:
    """Return how many letters must be changed, added, removed or swapped to turn one word into the other."""
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
