"""Folded node lines and entities have the same meaning for Slurm's own programs, in each version. Needs docker."""

from collections.abc import Iterator

import pytest
from hostlists import each
from inventories import SMALL, changed
from pace import until
from rehearsing import RELEASES

from gpupool.compile.slurm.accounting import entities
from gpupool.compile.slurm.sacctmgr import written
from gpupool.rehearsal.twin import Twin
from gpupool.slurm.hostlists import expand, fold

CONF = "/etc/slurm/slurm.conf"
_NODE = '  - {name: "gpu-[1-2]", address: "10.90.2.[1-2]", roles: [compute], hardware: box, gpus: {a40: 8}}\n'
# numbers that gain a digit, that have zeros, that decrease, no numbers; addresses in another order
_NAMES = {
    **{f"gpu-{number}": f"10.90.2.{number}" for number in (8, 9, 10, 11)},
    **{f"n{number:03}": f"10.90.3.{100 - number}" for number in (7, 8, 98, 99)},
    **{"z3": "10.90.4.1", "z1": "10.90.4.9", "z2": "10.90.4.10", "alone": "10.90.5.1", "r1n1": "10.90.5.2"},
}
_SHOWN = {"NodeName", "NodeHostName", "NodeAddr", "Port", "CPUTot", "CPUEfctv", "RealMemory", "Gres", "Partitions"} | {
    *("AvailableFeatures", "CoresPerSocket", "Sockets", "ThreadsPerCore", "CfgTRES", "Weight")
}
_LIMITS = "Account,User,ParentName,GrpTRES,GrpTRESMins,GrpJobs,GrpWall,MaxTRES,MaxWall,MaxSubmit,QOS,DefaultQOS"


@pytest.fixture(scope="module", params=RELEASES)
def twin(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    """A cluster whose nodes are all alike, except one in the middle."""
    rows = [_NODE.replace("gpu-[1-2]", name).replace("10.90.2.[1-2]", at) for name, at in _NAMES.items()]
    rows[5] = rows[5].replace("gpus: {a40: 8}", "gpus: {a40: 4}, features: [odd]")
    cluster = changed(
        SMALL,
        tmp_path_factory.mktemp("folded"),
        (_NODE, "".join(rows)),
        ("contributed_gpus: 10}", "contributed_gpus: 10, limits: {group: {gpus: {a40: 10}, jobs: 7, wall: 5d}}}"),
        ("account: red}", "account: red, coordinator: true}"),
        ("default_partition: all", "default_partition: all, untyped_gpus: refuse"),
        ("ctl,gpu-1", "ctl,gpu-8"),
    )
    with Twin.start(cluster, version=request.param) as twin:
        yield twin


def _nodes(twin: Twin) -> list[dict[str, str]]:
    """Return slurmctld's configuration of each node, in its order."""
    lines = twin.run("scontrol -o show nodes").out.splitlines()
    pairs = [[word.partition("=") for word in line.split()] for line in lines]
    return [{key: value for key, _, value in words if key in _SHOWN} for words in pairs]


def _reread(twin: Twin, text: str) -> list[dict[str, str]]:
    done = twin.run(f"cat > {CONF} <<'EOF'\n{text}EOF\nscontrol reconfigure")
    assert done.code == 0, done.err
    return until(lambda: _nodes(twin) or None, "slurmctld answers", lambda: twin.run("scontrol ping").out)


def test_slurmctld_has_the_same_nodes_as_from_separate_lines(twin: Twin) -> None:
    text = twin.run(f"cat {CONF}").out
    lines = [line for line in text.splitlines() if line.startswith("NodeName=")]
    assert len(lines) == 3
    rows = [row for line in lines for row in each(line)]
    wide = "".join(" ".join(f"{key}={value}" for key, value in row.items()) + "\n" for row in rows)
    rest = "".join(f"{line}\n" for line in text.splitlines() if line not in lines)
    folded = _reread(twin, text)
    assert {node["NodeName"]: node["NodeAddr"] for node in folded} == _NAMES
    assert _reread(twin, rest.replace("# Nodes\n", f"# Nodes\n{wide}")) == folded
    # the trial of a new slurm.conf gives each line one address
    words = [[word for word in line.split() if not word.startswith("NodeAddr=")] for line in lines]
    trial = "".join(" ".join([*line, "NodeAddr=192.0.2.1"]) + "\n" for line in words)
    alike = _reread(twin, rest.replace("# Nodes\n", f"# Nodes\n{trial}"))
    assert {node["NodeAddr"] for node in alike} == {"192.0.2.1"}
    assert _reread(twin, text) == folded


@pytest.mark.parametrize(
    "names",
    [
        [*_NAMES],
        [*_NAMES.values()],
        [f"a{number}" for number in range(95, 1105)],
        [f"a{number:03}" for number in (0, 1, 2, 998, 999, 1000, 1001)],
        ["a1", "a01", "a001", "a2", "a02", "b", "a3", "a3x", "a9", "a8", "a7"],
        ["r1n1", "r1n2", "r2n1", "x-1.example.org", "x-2.example.org", "a123456789012", "a123456789013"],
    ],
    ids=["names", "addresses", "many", "zeros", "mixed", "long"],
)
def test_slurm_expands_a_hostlist_in_our_order(twin: Twin, names: list[str]) -> None:
    output = twin.run(f"scontrol show hostnames '{fold(names)}'").out.split()
    assert output == names == expand(fold(names))


def test_sacctmgr_reads_the_printed_entities(twin: Twin) -> None:
    text = written(entities(twin.cluster))
    tree = "".join(f"{line}\n" for line in text.splitlines() if not line.startswith("QOS"))
    other = tree.replace("Cluster - 'small'", "Cluster - 'other'")
    twin.run(f"cat > /tmp/other.cfg <<'EOF'\n{other}EOF")
    # slurmdbd refused the connection here once, after the reconfigures of the tests above
    command = (
        "sacctmgr -i load file=/tmp/other.cfg 2>&1 || { pgrep -a slurmdbd; tail /var/log/slurm/slurmdbd.log; false; }"
    )
    until(lambda: twin.run(command).code == 0, "sacctmgr loads the file", lambda: twin.run(command).out)
    ours, theirs = (
        sorted(twin.run(f"sacctmgr -nP show assoc cluster={name} format={_LIMITS}").out.splitlines())
        for name in ("small", "other")
    )
    assert ours == theirs
    assert any("gres/gpu:a40=10" in line for line in ours)
