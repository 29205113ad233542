"""The order of jobs: by tier of the partition, and within a partition by QoS."""

from collections.abc import Iterator

from gpupool.cluster.node import Node
from gpupool.cluster.partition import Partition
from gpupool.rehearsal.expected import Expected, Lab
from gpupool.rehearsal.expected_claims import JobRequest
from gpupool.rehearsal.promises.base import Promise, Verdict, broken, kept, with_labs
from gpupool.rehearsal.stage import Stage

_SHORT = "#!/bin/sh\nexec sleep 1\n"


def _ranks(expected: Expected, lab: Lab) -> Iterator[tuple[tuple[int, float], str, str | None]]:
    """Yield (rank, partition, QoS): all partitions with their default QoS, and all QoS in the lab's partition."""
    user = lab.members[0]
    open_to = [partition for partition in expected.owner_partitions if expected.may(user, partition, lab.name)]
    for partition in open_to:
        default = expected.default_qos(partition, lab.name)
        yield (partition.entry.tier, expected.priority(partition, default)), partition.name, None
    home = expected.cluster.partitions[lab.partition]
    mine = (*user.qos, *user.account_qos[lab.name])
    replaced = {other for name in mine for other in expected.cluster.qos[name].replaces}
    for name in expected.qos_for(user, home, lab.name):
        if name not in replaced and not expected.cluster.qos[name].preemptable:
            yield (home.entry.tier, expected.priority(home, name)), home.name, name


def _queue(expected: Expected, lab: Lab, node: Node) -> list[tuple[str, str | None]]:
    """Return a partition and QoS of each rank, highest first, whose limits allow a job on all GPUs of the node."""
    by_rank: dict[tuple[int, float], tuple[str, str | None]] = {}
    user = lab.members[0]
    for rank, name, qos in _ranks(expected, lab):
        partition: Partition = expected.cluster.partitions[name]
        allowance = expected.allowance(user, partition, lab.name, qos).gpu
        if node.name in partition.nodes and (allowance is None or allowance >= node.gpu_count):
            by_rank.setdefault(rank, (name, qos))
    return [by_rank[rank] for rank in sorted(by_rank, reverse=True)]


def _place(expected: Expected) -> tuple[Lab, Node, list[tuple[str, str | None]]] | None:
    nodes = sorted((node for node in expected.compute if node.gpus), key=lambda node: node.gpu_count)
    labs = [lab for lab in expected.labs if nodes and lab.cap >= nodes[0].gpu_count]
    queues = [(lab, nodes[0], _queue(expected, lab, nodes[0])) for lab in labs]
    return max(queues, key=lambda queue: len(queue[2]), default=None)


def _not_made_because(expected: Expected) -> str | None:
    if reason := with_labs(expected):
        return reason
    place = _place(expected)
    if place and len(place[2]) > 1:
        return None
    if all(len({rank for rank, *_ in _ranks(expected, lab)}) < 2 for lab in expected.labs):
        return "no two partitions or QoS differ in rank"
    node = min((node for node in expected.compute if node.gpus), key=lambda node: node.gpu_count)
    return (
        f"no two partitions or QoS that differ in rank allow a lab a job on all {node.gpu_count} GPUs of {node.name}, "
        "the node with the fewest"
    )


def _try(stage: Stage) -> Verdict:
    place = _place(stage.expected)
    assert place is not None
    lab, node, queue = place
    stage.empty()
    gpu = next(iter(node.gpus))

    def request(partition: str, qos: str | None) -> JobRequest:
        named = (f"--qos={qos}",) if qos else ()
        more = (f"--nodelist={node.slurm_name}", "--mem=10M", "--time=5", *named)
        return JobRequest(
            lab.name, lab.members[0].name, lab.name, partition, 1, node.gpus[gpu], gpu_type=gpu, more=more
        )

    before = stage.submit([request(lab.partition, None)])
    stage.until(lambda snapshot: snapshot.gpus(before) > 0, stage.patience())
    submitted = stage.submit([request(*pair) for pair in reversed(queue)], _SHORT)
    texts = [f"{partition}{f' --qos={qos}' if qos else ''}" for partition, qos in queue]
    tried = f"{node.name} full; jobs for all its GPUs submitted in reverse order: {', '.join(reversed(texts))}"
    if submitted.refused:
        return broken(tried, f"refused: {submitted.refused[0][1]}")
    stage.until(lambda snapshot: len(snapshot.pending(submitted)) == len(queue), stage.patience())
    stage.cancel(before)
    done, snapshot = stage.until(lambda snapshot: not snapshot.of(submitted), stage.patience() + 10 * len(queue))
    if not done:
        stage.cancel(submitted)
        return broken(tried, f"{len(snapshot.of(submitted))} did not start ({snapshot.reasons(submitted)})")
    numbers = list(submitted.requests)[::-1]
    listed = stage.twin.run(f"sacct -X -n -P -o JobID,Start -j {','.join(numbers)}").out
    starts = dict(line.split("|") for line in listed.splitlines())
    happened = [texts[numbers.index(number)] for number in sorted(numbers, key=lambda number: starts.get(number, ""))]
    in_order = sorted(numbers, key=lambda number: starts.get(number, "")) == numbers
    return (kept if in_order else broken)(tried, f"they started in this order: {', '.join(happened)}")


ORDER = Promise(
    "order",
    "Jobs of higher partitions start first, and within a partition jobs of the higher QoS",
    ("SKY-156", "SKY-157"),
    _not_made_because,
    _try,
)
