"""Hardware that labs own instead of a number of GPUs: nodes, GPUs of a type, CPUs."""

from collections.abc import Iterator

from gpupool.cluster.node import Node
from gpupool.rehearsal.expected import Expected, Lab, OwnedHardware
from gpupool.rehearsal.expected_claims import JobRequest, Piece, hand_out, singles
from gpupool.rehearsal.promises.base import Promise, Verdict, verdict
from gpupool.rehearsal.stage import QueueSnapshot, Stage, SubmittedJobs
from gpupool.wording import counted

_CPUS = 8  # of a job that claims or borrows CPUs
_LITTLE = "--mem=10M"  # memory must not limit these jobs


def _on(node: Node) -> tuple[str, ...]:
    return f"--nodelist={node.slurm_name}", _LITTLE


def _type(expected: Expected, node: Node) -> str | None:
    return next(iter(node.gpus), None) if expected.typed else None


def _cpus(expected: Expected, node: Node) -> int:
    """Return the maximum number of CPUs of a job on all GPUs of a node."""
    allowed = [expected.cluster.scheduler.most_cpus(gpu) for gpu in node.gpus]
    # without a GPU type in the request, the smallest limit applies
    most = min((cpus for cpus in allowed if cpus is not None), default=None)
    return min(node.cpus, most * node.gpu_count) if most else node.cpus


def _guests(expected: Expected) -> Iterator[JobRequest]:
    """Yield preemptable jobs on every GPU that can be borrowed, and on the CPUs of these nodes if labs own CPUs."""
    for loan in expected.loans[:1]:
        user = next((user for user, _ in expected.people(loan.partition) if loan.account in user.accounts), None)
        nodes = [expected.cluster.nodes[name] for name in loan.partition.nodes] if user else []
        cpus = any(
            owned.cpus or any(not expected.cluster.nodes[n].gpus for n in owned.nodes)
            for owned in expected.owned_hardware
        )
        for node in nodes:
            who = (user.account, user.name, loan.account, loan.partition.name) if user else ("", "", "", "")
            yield JobRequest(*who, node.gpu_count, 1, gpu_type=_type(expected, node), owned=False, more=_on(node))
            free = node.cpus - max(node.cpus_kept, 1) * node.gpu_count
            if cpus and free >= _CPUS:
                yield JobRequest(*who, free // _CPUS, 0, _CPUS, owned=False, more=_on(node))


def _claims(expected: Expected, owned: OwnedHardware) -> list[JobRequest]:
    """Return jobs for all that a lab owns: one for each node, one for each GPU of a type, some for CPUs."""
    requests = []
    for turn, name in enumerate(owned.nodes):
        node, user = expected.cluster.nodes[name], owned.members[turn % len(owned.members)]
        where = owned.partitions[name]
        requests.append(
            JobRequest(owned.name, user.name, owned.name, where, 1, node.gpu_count, _cpus(expected, node),
                 _type(expected, node), more=_on(node))
        )  # fmt: skip
    whole, rest = divmod(owned.cpus or 0, _CPUS)
    pieces = {owned.partition: [Piece(0, _CPUS)] * whole + [Piece(0, rest)] * (rest > 0)}
    for gpu, number in owned.types.items():
        pieces.setdefault(owned.places[gpu], []).extend([Piece(1, None, gpu)] * number)
    for partition, claimed in pieces.items():
        requests += hand_out(expected, _lab(owned, partition), claimed)
    return requests


def _lab(owned: OwnedHardware, partition: str) -> Lab:
    return Lab(owned.name, sum(owned.types.values()), owned.members, owned.group, partition)


def _one_more(owned: OwnedHardware) -> list[JobRequest]:
    name, user = owned.name, owned.members[-1].name
    requests = [
        JobRequest(name, user, name, owned.places[gpu], gpus=1, gpu_type=gpu, more=(_LITTLE,)) for gpu in owned.types
    ]
    if owned.cpus is not None:
        requests.append(JobRequest(name, user, name, owned.partition, gpus=0, cpus=1, more=(_LITTLE,)))
    return requests


def _strangers(expected: Expected, owned: OwnedHardware) -> Iterator[JobRequest]:
    """Yield a job of another account's user in each partition of a lab's nodes; the partition must refuse it."""
    other = next((user for user in expected.cluster.users.values() if user.account != owned.name), None)
    for name, partition in owned.partitions.items():
        if other:
            more = (*_on(expected.cluster.nodes[name]), "--hold")
            yield JobRequest(other.account, other.name, other.account, partition, gpus=0, more=more)


def _running(submitted: SubmittedJobs, snapshot: QueueSnapshot) -> bool:
    return len(snapshot.running(submitted)) == sum(request.count for request in submitted.requests.values())


def _try(stage: Stage) -> Verdict:
    expected = stage.expected
    stage.empty()
    guests = stage.submit(_guests(expected))
    stage.until(lambda snapshot: _running(guests, snapshot), stage.patience(len(guests.requests)))
    borrowed = len(stage.look().running(guests))
    others = stage.submit([request for requests in singles(expected).values() for request in requests])
    claims = {owned.name: stage.submit(_claims(expected, owned)) for owned in expected.owned_hardware}
    jobs = sum(request.count for submitted in claims.values() for request in submitted.requests.values())
    stage.until(
        lambda snapshot: all(_running(submitted, snapshot) for submitted in (*claims.values(), others)),
        stage.patience(jobs, evicts=True),
    )
    above = stage.submit([request for owned in expected.owned_hardware for request in _one_more(owned)])
    strangers = stage.submit([request for owned in expected.owned_hardware for request in _strangers(expected, owned)])
    stage.cancel(strangers)
    stage.until(lambda snapshot: bool(snapshot.running(above)), stage.patience())
    snapshot = stage.look()
    wrong = [
        f"{request.lab}: a job was refused: {message}"
        for submitted in claims.values()
        for request, message in submitted.refused
    ]
    wrong += [
        f"{name} does not hold all that it owns: {counted(len(snapshot.pending(submitted)), 'job')} pending "
        f"({snapshot.reasons(submitted)})"
        for name, submitted in claims.items()
        if not _running(submitted, snapshot)
    ]
    if not _running(others, snapshot):
        wrong.append(f"other labs do not hold their caps ({snapshot.reasons(others)})")
    wrong += [f"{job.account} runs one job beyond what it owns" for job in snapshot.running(above)]
    wrong += [f"{request.partition} accepted a job of {request.account}" for request in strangers.requests.values()]
    stage.empty()
    tried = f"{counted(len(claims), 'lab')} claimed all they own while {counted(borrowed, 'job')} of others ran there"
    return verdict(tried, wrong, f"all held it at once, in {counted(jobs, 'job')}, and no more")


def _not_made_because(expected: Expected) -> str | None:
    return None if expected.owned_hardware else "no lab with users owns nodes, GPUs of a type or CPUs"


OWNED = Promise(
    "owned",
    "Every lab gets the nodes, the GPUs of a type and the CPUs that it owns, and no more",
    (),
    _not_made_because,
    _try,
)
