"""Six patterns of hard English become rarer in every folder: docs, docstrings, comments, templates and test names."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CEILINGS = Path(__file__).with_name("hard-english.tsv")
PATTERNS = {
    "nobody": r"\bnobody",
    "said or told": r"\b(?:is|are|was|were|be|been|being|it) (?:said|told)\b",
    "one that": r"\b(?:one|those) that\b",
    "as ever": r"\bas ever\b|\bby itself\b|\bof its own\b|\bof their own\b",
    "What": r"(?:^|[.:!] |# |\"\"\")What (?!if\b)[a-z][^?\n]*(?=\n|$)",
    "Who": r"(?:^|[.:!] |# |\"\"\")Who (?:[a-z]+s|are|may|can|will|would|must)\b[^?\n]*(?=\n|$)",
}
_ANY = {name: re.compile(pattern, re.IGNORECASE if name[0].islower() else 0) for name, pattern in PATTERNS.items()}
# The name of a Unix user and code in backticks are not English.
_CODE = re.compile(r"`[^`\n]*`|([\"'])nobody\1|\bnobody:nogroup\b")
# Words of other programs, of guides, and the tables of forbidden phrases.
_QUOTED = re.compile(
    r"/recorded/|/golden/|\.(?:tsv|svg|lock|json)$|requirements-status\.md$|STYLE\.md$|/test_style\.py$|/test_plain_english\.py$"
)


def hard(text: str) -> Counter[str]:
    """Return how often each pattern occurs in a text, in names with underscores too."""
    text = _CODE.sub("", text)
    words = text.replace("_", " ")
    return Counter({name: len(found) for name, pattern in _ANY.items() if (found := pattern.findall(words))})


def counted() -> dict[str, int]:
    """Return the number of patterns in each top folder (or file) of the repository."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found: Counter[str] = Counter()
    for path in listed.splitlines():
        if _QUOTED.search(path) or not (ROOT / path).is_file():
            continue
        found[path.partition("/")[0]] += hard((ROOT / path).read_text(encoding="utf-8", errors="replace")).total()
    return {folder: number for folder, number in found.items() if number}


def ceilings() -> dict[str, int]:
    rows = [line.split("\t") for line in CEILINGS.read_text(encoding="utf-8").splitlines()]
    return {folder: int(number) for folder, number in rows}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("# a file that nobody reads", "nobody"),
        ("def test_a_job_nobody_sees() -> None:", "nobody"),
        ("what it is told", "said or told"),
        ("The error was said\n", "said or told"),
        ("takes those that are down", "one that"),
        ("starts by itself", "as ever"),
        ("# What a node has.", "What"),
        ('"""Who has a share.', "Who"),
        ("It waits. What is left goes.", "What"),
    ],
)
def test_a_pattern_is_found(text: str, name: str) -> None:
    assert hard(text) == {name: 1}


@pytest.mark.parametrize("text", ["User=`nobody`", 'owner = "nobody"', "What is a lab?", "## What if", "Somewhat told"])
def test_code_and_questions_are_not_counted(text: str) -> None:
    assert hard(text) == {}


def test_no_folder_has_more_hard_english_than_before() -> None:
    allowed = ceilings()
    grown = {folder: number for folder, number in counted().items() if number > allowed.get(folder, 0)}
    assert grown == {}, "docs/STYLE.md says how to write it; lower a folder's number in hard-english.tsv after you mend"
