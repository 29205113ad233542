"""Testbeds of tests run beside each other: each cluster has a name of its own, or one would find another's network."""

import re
from collections import Counter

from tests.testbed.cluster import ROOT

#: Those of tests/day2 have a prefix of their own.
FOLDERS = ("tests/testbed", "tests/vm", "tests/guides", "tests/driver", "tests/deploy", "molecule")


def test_no_two_clusters_of_tests_have_one_name() -> None:
    texts = [
        path.read_text(encoding="utf-8")
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in (".py", ".yml")
    ]
    names = Counter(name for text in texts for name in re.findall(r"\bcluster: \{name: ([\w-]+)", text))
    assert len(names) > 1
    assert [name for name, count in names.items() if count > 1] == []
