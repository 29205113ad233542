"""The limits of one user: of partitions, and of QoS, which count in all partitions together."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpupool.cluster.accounts import User
from gpupool.cluster.partition import Partition
from gpupool.rehearsal.expected import Expected
from gpupool.rehearsal.expected_claims import JobRequest
from gpupool.rehearsal.promises.base import Promise, Verdict, broken, some, verdict
from gpupool.rehearsal.stage import QueueSnapshot, Stage, SubmittedJobs
from gpupool.wording import counted

_PIECE = 8  # CPUs of one job that fills a limit of CPUs


@dataclass(frozen=True)
class Case:
    """Jobs of one user up to a limit, and one more job, which must stay pending."""

    text: str
    fill: tuple[JobRequest, ...]
    above: JobRequest

    @property
    def gpus(self) -> int:
        """Return the number of GPUs of the jobs up to the limit."""
        return sum(request.gpus * request.count for request in self.fill)

    @property
    def cpus(self) -> int:
        """Return the number of CPUs of the jobs up to the limit."""
        return sum((request.cpus or 1) * request.count for request in self.fill)


def cases(expected: Expected) -> Iterator[Case]:
    """Yield cases for the limits of users that jobs can reach: one for a limit of a QoS, two for one of a partition."""
    held: Counter[str] = Counter()  # GPUs by account
    seen: Counter[tuple[str, str]] = Counter()
    busy: set[tuple[str, str]] = set()  # (user, partition or QoS) in use: a second limit would interfere
    cpus = 0  # of the cases so far
    for partition in (partition for partition in expected.owner_partitions if not partition.entry.exclusive):
        for user, account in expected.people(partition):
            for qos in (None, *expected.qos_for(user, partition, account)):
                name = qos or expected.default_qos(partition, account)
                allowance = expected.allowance(user, partition, account, qos)
                for key in ("gpu", "cpu", "jobs"):
                    limit, whose = getattr(allowance, key), _whose(expected, partition, name, key)
                    times = 2 if whose == partition.name else 1
                    if not limit or not whose or seen[whose, key] >= times or (user.name, whose) in busy:
                        continue
                    if not _takes(partition, key):
                        continue
                    case = _case(expected, user, account, partition, qos, key, limit, whose)
                    cap = expected.cluster.accounts[account].limits.group.gpu
                    if cap is not None and held[account] + case.gpus >= cap:
                        continue  # the jobs would reach the lab's cap first
                    if case.gpus + sum(held.values()) >= expected.pool or not _has_room(expected, case, cpus):
                        continue
                    cpus += case.cpus
                    seen[whose, key] += 1
                    busy.add((user.name, whose))
                    held[account] += case.gpus
                    yield case


def _has_room(expected: Expected, case: Case, held: int) -> bool:
    """Return whether each partition has CPUs for the case besides `held` (other cases) and CPUs kept for GPUs."""
    asked: Counter[str] = Counter()
    for request in (*case.fill, case.above):
        asked[request.partition] += (request.cpus or 1) * request.count
    for name, cpus in asked.items():
        nodes = [expected.cluster.nodes[name] for name in expected.cluster.partitions[name].nodes]
        if cpus + held > sum((node.cpus - node.cpus_kept * node.gpu_count) // _PIECE * _PIECE for node in nodes):
            return False
    return True


def _takes(partition: Partition, key: str) -> bool:
    """Return whether a partition accepts the jobs that fill a limit; only for a limit of GPUs do they request GPUs."""
    return key == "gpu" or not (partition.without_gpu or partition.limits.per_job_least.gpu)


def _whose(expected: Expected, partition: Partition, qos: str | None, key: str) -> str | None:
    if getattr(partition.limits.per_user, key) is not None:
        return partition.name
    of_qos = expected.cluster.qos.get(qos) if qos else None
    return f"qos {qos}" if of_qos and getattr(of_qos.limits.per_user, key) is not None else None


def _case(
    expected: Expected, user: User, account: str, home: Partition, qos: str | None, key: str, limit: int, whose: str
) -> Case:
    # a QoS counts in all partitions together: spread the jobs over partitions without a limit for users
    round_trip = [home.name] if whose == home.name else [
        owner.name for owner in expected.owner_partitions
        if expected.may(user, owner, account) and not owner.limits.per_user.model_fields_set and _takes(owner, key)
    ] or [home.name]  # fmt: skip
    named = (f"--qos={qos}",) if qos else ()

    def request(partition: str, number: int, cpus: int | None) -> JobRequest:
        gpus = 1 if key == "gpu" else 0
        kind = expected.type_in(partition) if gpus else None
        return JobRequest(user.account, user.name, account, partition, number, gpus, cpus, kind, more=(*named, *_MEM))

    sizes = [1] * limit if key != "cpu" else [*[_PIECE] * (limit // _PIECE), *[limit % _PIECE] * (limit % _PIECE > 0)]
    shares = Counter((round_trip[turn % len(round_trip)], size) for turn, size in enumerate(sizes))
    fill = tuple(request(where, number, size if key == "cpu" else None) for (where, size), number in shares.items())
    noun = {"gpu": "GPU", "cpu": "CPU", "jobs": "job"}[key]
    more = request(round_trip[-1], 1, None)
    if whose != home.name:
        # a QoS also counts in all accounts together
        more = replace(more, account=_other_account(expected, user, round_trip[-1], more.account, qos))
    return Case(f"{user.name}, {counted(limit, noun)} by {whose}", fill, more)


def _other_account(expected: Expected, user: User, where: str, account: str, qos: str | None) -> str:
    partition = expected.cluster.partitions[where]
    used = qos or expected.default_qos(partition, account)
    for other in user.own_accounts:
        same = (
            qos in expected.qos_for(user, partition, other) if qos else expected.default_qos(partition, other) == used
        )
        if other != account and same and expected.may(user, partition, other):
            return other
    return account


_MEM = ("--mem=10M",)


def _try(stage: Stage) -> Verdict:
    stage.empty()
    limits = list(cases(stage.expected))
    fills = [stage.submit(case.fill) for case in limits]
    tried = f"{counted(len(limits), 'limit')} reached, and one job beyond each: {some(case.text for case in limits)}"
    held, snapshot = stage.until(
        lambda snapshot: all(_holds(snapshot, submitted) for submitted in fills), stage.patience(sum(map(_jobs, fills)))
    )
    if not held:
        late = [
            (case, submitted) for case, submitted in zip(limits, fills, strict=True) if not _holds(snapshot, submitted)
        ]
        stage.cancel(*fills)
        return broken(tried, some(f"{case.text}: {_short(snapshot, submitted)}" for case, submitted in late))
    above = [stage.submit([case.above]) for case in limits]
    _, snapshot = stage.until(
        lambda snapshot: all(_stopped(snapshot, submitted) for submitted in above), stage.patience()
    )
    wrong = []
    for case, fill, more in zip(limits, fills, above, strict=True):
        if refused := [*fill.refused, *more.refused]:
            wrong.append(f"{case.text}: refused: {refused[0][1]}")
        elif not _holds(snapshot, fill):
            wrong.append(f"{case.text}: {_short(snapshot, fill)}")
        elif snapshot.running(more):
            wrong.append(f"{case.text}: the job beyond it runs")
        elif not _stopped(snapshot, more):
            wrong.append(f"{case.text}: the job beyond it is pending for another reason ({snapshot.reasons(more)})")
    reasons = snapshot.reasons(
        SubmittedJobs({number: request for submitted in above for number, request in submitted.requests.items()})
    )
    stage.cancel(*fills, *above)
    return verdict(tried, wrong, f"all were reached, and each further job is pending ({reasons})")


def _jobs(submitted: SubmittedJobs) -> int:
    return sum(request.count for request in submitted.requests.values())


def _short(snapshot: QueueSnapshot, submitted: SubmittedJobs) -> str:
    refused = f"; refused: {submitted.refused[0][1]}" if submitted.refused else ""
    return f"{len(snapshot.running(submitted))} of {_jobs(submitted)} jobs run ({snapshot.reasons(submitted)}){refused}"


def _holds(snapshot: QueueSnapshot, submitted: SubmittedJobs) -> bool:
    return len(snapshot.running(submitted)) == _jobs(submitted)


def _stopped(snapshot: QueueSnapshot, submitted: SubmittedJobs) -> bool:
    return all(job.state == "PENDING" and job.reason.startswith(("QOS", "Assoc")) for job in snapshot.of(submitted))


def _not_made_because(expected: Expected) -> str | None:
    return None if any(cases(expected)) else "no user has a limit"


PER_USER = Promise(
    "per-user",
    "Each user can use as much as the limits allow, and no more",
    ("SKY-153", "SKY-158", "SKY-207", "SKY-208", "SKY-209"),
    _not_made_because,
    _try,
)
