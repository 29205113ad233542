"""The forms in which the submit plugin of an older commit was bypassed: which of them a case has. For counts only."""

import re
from collections.abc import Mapping

from .cases import Case

_BEYOND_16_BITS = "65534"
#: The letters are those of the second review of attacks.
FORMS: Mapping[str, str] = {
    "a": r"--mem-per-cpu=0(\s|$|')|--mem-per-gpu=0(\s|$|')",
    "b": rf"MinMemory(Node|CPU)={_BEYOND_16_BITS}\b",
    "c": r"--mincpus=|MinCPUsNode=",
    "d": r"enforce-binding",
    "e": r"(gpu[:=\w]*),(gres[:/])?\1|--gpus\S*=(\w+:)?\d+,",
    "f": r"MemPerTres=\S*[0-9][KMGTPk]|--mem-per-gpu=\S*[KTP]",
    "N5": r"--nice=|Nice=",
}


def forms(case: Case) -> list[str]:
    """Return the forms that a case may have."""
    text = "\n".join(step.shown() for step in case.steps)
    return [name for name, pattern in FORMS.items() if re.search(pattern, text)]


def form(case: Case, text: str) -> str | None:
    """Return the form of a case that explains a violation with this text; None if several may."""
    names = forms(case)
    if "priority" in text:
        return "N5" if "N5" in names else None
    names = [name for name in names if name != "N5"]
    return names[0] if len(names) == 1 else None
