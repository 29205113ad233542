"""The cost of a plan: on one screen, as JSON, and as a page for a pull request."""

from changing import change_of

from gpupool.change import Change
from gpupool.cli.price import jobs, markdown, summary
from gpupool.effect import NOTHING, Effect, together
from gpupool.engine.report import HostReport, Report

DIFF = "-MaxTime=1\n+MaxTime=2 ```\n"
RECONFIGURE, RESTART = Effect("reconfigure"), Effect("restart slurmd")
FILE = change_of("Slurm configuration | /etc/slurm/slurm.conf", DIFF, RECONFIGURE)
HOSTS = change_of("Base | /etc/hosts", "+10.0.0.9 new\n")


def host(*changes: Change, waits: tuple[Effect, ...] = (), failure: str | None = None) -> HostReport:
    return HostReport(failure is None, failure, changes, 3, 1.0, (), waits)


REPORT = Report(
    {
        "ctl": host(FILE, HOSTS),
        "a1": host(HOSTS, change_of("slurmd | restart slurmd.service", "", RESTART)),
        "a2": host(HOSTS),
        "a3": host(HOSTS),
        "a4": host(waits=(Effect("drain", ("33 of u-kira1", "34 of u-kira1")),), failure="GPU driver stays"),
        "a5": host(),
    },
    2.0,
)


def test_nodes_are_grouped_by_cost_with_the_most_expensive_first() -> None:
    assert summary(REPORT) == [
        "1 node: drain, 2 jobs wait for it",
        "1 node: restart slurmd",
        "1 node: reconfigure",
        "2 nodes: no restart",
    ]
    assert jobs(REPORT) == ["a4: 33 of u-kira1, 34 of u-kira1"]


def test_the_json_has_the_same_effects() -> None:
    hosts = REPORT.as_dict()["hosts"]
    assert {name: host["effect"] for name, host in hosts.items()} == {
        "ctl": "reconfigure", "a1": "restart slurmd", "a2": "nothing", "a3": "nothing", "a4": "drain", "a5": "nothing"
    }  # fmt: skip
    assert hosts["a4"]["jobs"] == ["33 of u-kira1", "34 of u-kira1"]
    assert hosts["ctl"]["changes"][0] == {
        "operation": FILE.operation, "diff": DIFF, "effect": "reconfigure", "jobs": [],
        "kind": "file", "item": "/etc/slurm/slurm.conf", "wanted": "present", "actual": "absent", "refused": False,
    }  # fmt: skip


def test_a_page_has_the_summary_as_a_table_and_diffs_that_stay_in_their_fences() -> None:
    page = markdown(REPORT, "6 nodes: 6 changes pending, 1 failed")
    assert page.startswith(
        "**6 nodes: 6 changes pending, 1 failed**\n\n| nodes | effect |\n|---|---|\n| a4 | drain, 2 jobs"
    )
    assert "| a2, a3 | no restart |" in page
    assert "- a4: 33 of u-kira1, 34 of u-kira1" in page
    assert "- **a4**: GPU driver stays" in page
    assert "<details><summary>ctl: Slurm configuration \\| /etc/slurm/slurm.conf (reconfigure)</summary>" in page
    assert "````diff\n-MaxTime=1\n+MaxTime=2 ```\n````" in page
    assert page.count("/etc/hosts") == 1, "the same change of several nodes is there once"


def test_names_of_files_are_not_markup_of_the_page() -> None:
    page = markdown(Report({"a1": host(change_of("Files | /srv/<b>x</b>`y`"))}, 1.0), "1 node")
    assert "\\<b\\>x\\</b\\>\\`y\\`" in page


def test_effects_of_one_node_are_combined() -> None:
    assert together([NOTHING, NOTHING]) == NOTHING
    assert together([RECONFIGURE, NOTHING, RESTART, RECONFIGURE]) == Effect("reconfigure, restart slurmd")
    drained = together([Effect("drain", ("1 of u-a",)), Effect("drain", ("1 of u-a", "2 of u-b"))])
    assert drained == Effect("drain", ("1 of u-a", "2 of u-b"))
