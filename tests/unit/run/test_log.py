"""The log of all nodes: runs as one list, with the result of each."""

from dataclasses import replace

import pytest

from gpupool.facts.applies import Applied, AppliedState
from gpupool.run.log import merged

RUN = Applied(
    run="a", begun="2030-01-31T08:12:00Z", who="ann@desk", command="apply", version="1", cluster="small",
    commit="4261f67df4", uncommitted=False, ended="2030-01-31T08:13:00Z", count=1, changes=("Names | /etc/hosts",),
)  # fmt: skip


def test_a_run_on_several_nodes_is_listed_once_and_the_oldest_is_first() -> None:
    later = replace(RUN, begun="2030-01-31T08:12:30Z")
    old = replace(RUN, run="b", begun="2030-01-30T23:00:00Z")
    runs = merged({"n1": AppliedState((old, later)), "n2": AppliedState((RUN,))})
    assert [(run.first.run, run.first.begun, list(run.nodes)) for run in runs] == [
        ("b", "2030-01-30T23:00:00Z", ["n1"]),
        ("a", "2030-01-31T08:12:00Z", ["n1", "n2"]),
    ]


@pytest.mark.parametrize(
    ("n2", "message"),
    [
        ({}, ""),
        ({"failure": "Packages: no such package"}, "failed: n2"),
        ({"ended": "", "count": 0, "changes": ()}, "not ended: n2"),
        ({"ended": "", "under_way": True}, "under way"),
    ],
)
def test_a_run_is_listed_with_its_outcome(n2: dict[str, object], message: str) -> None:
    (run,) = merged({"n1": AppliedState((RUN,)), "n2": AppliedState((replace(RUN, **n2),))})
    assert run.outcome == message
