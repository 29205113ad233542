"""GPUs that members of a lab borrow from each other: beyond their own limits, within the lab's cap, and preemptable."""

from collections.abc import Iterator

from gpupool.cluster.accounts import User
from gpupool.cluster.partition import Partition
from gpupool.rehearsal.expected import Expected, Lab
from gpupool.rehearsal.expected_claims import JobRequest
from gpupool.rehearsal.promises.base import Promise, Verdict, broken, kept, verdict, with_labs
from gpupool.rehearsal.stage import Stage
from gpupool.wording import counted

_BEYOND = 2  # jobs over a user's limit


def _spills(expected: Expected) -> Iterator[tuple[Lab, User, int, Partition]]:
    for lab in expected.labs:
        for user in lab.members:
            allowance = expected.allowance(user, expected.cluster.partitions[lab.partition], lab.name)
            for lent in expected.lab_loans(lab.name):
                if lent.entry.lifts_per_user and allowance.gpu and allowance.gpu + _BEYOND <= lab.cap:
                    yield lab, user, allowance.gpu, lent


def _can_spill(expected: Expected) -> str | None:
    return None if any(_spills(expected)) else "no user has a limit that another partition of the lab lifts"


def _try_spill(stage: Stage) -> Verdict:
    stage.empty()
    lab, user, limit, lent = next(_spills(stage.expected))
    both, gpu = f"{lab.partition},{lent.name}", stage.expected.type_in(lab.partition)
    submitted = stage.submit([JobRequest(lab.name, user.name, lab.name, both, limit + _BEYOND, gpu_type=gpu)])
    tried = f"{user.name}, with a limit of {limit} GPUs, submitted {limit + _BEYOND} jobs to {both}"
    if submitted.refused:
        return broken(tried, f"refused: {submitted.refused[0][1]}")
    done, snapshot = stage.until(lambda snapshot: snapshot.gpus(submitted) == limit + _BEYOND, stage.patience(limit))
    first = sum(job.partition == lab.partition for job in snapshot.running(submitted))
    second = sum(job.partition == lent.name for job in snapshot.running(submitted))
    stage.cancel(submitted)
    happened = f"{first} ran in {lab.partition}, {second} in {lent.name}"
    if done and (first, second) == (limit, _BEYOND):
        return kept(tried, happened)
    return broken(tried, f"{happened} ({snapshot.reasons(submitted)})")


def _lent(expected: Expected) -> tuple[Lab, Partition] | None:
    """Return the smallest lab, with several users if possible, and a partition where its own jobs are preemptable."""
    pairs = [(lab, partition) for lab in expected.labs for partition in expected.lab_loans(lab.name)]
    return min(pairs, key=lambda pair: (len(pair[0].members) < 2, pair[0].cap), default=None)


def _has_lent(expected: Expected) -> str | None:
    return with_labs(expected) or (None if _lent(expected) else "no preemptable partition accepts labs' own accounts")


def _try_counts(stage: Stage) -> Verdict:
    stage.empty()
    lab, partition = _lent(stage.expected) or (stage.expected.labs[0], stage.expected.preemptable[0])
    user, gpu = lab.members[0].name, stage.expected.type_in(partition.name)
    submitted = stage.submit([JobRequest(lab.name, user, lab.name, partition.name, lab.cap + 1, gpu_type=gpu)])
    tried = f"{lab.name}, with a cap of {lab.cap}, submitted {lab.cap + 1} jobs to {partition.name}"

    done, snapshot = stage.until(
        lambda snapshot: (
            snapshot.gpus(submitted) == lab.cap
            and all(job.reason.startswith("Assoc") for job in snapshot.pending(submitted))
        ),
        stage.patience(lab.cap),
    )
    held = snapshot.gpus(submitted)
    if done:
        return kept(tried, f"{held} ran, one was pending ({snapshot.reasons(submitted)})")
    return broken(tried, f"{held} ran ({snapshot.reasons(submitted)})")


def _has_arbiter(expected: Expected) -> str | None:
    if reason := _has_lent(expected):
        return reason
    mates = _mates(expected)
    return None if mates else "the arbiter is off, or no lab has two users"


def _mates(expected: Expected) -> tuple[Lab, Partition] | None:
    pairs = [
        (lab, loan)
        for lab in expected.labs
        for loan in expected.lab_loans(lab.name)
        if loan.name in expected.arbitrated and len(lab.members) > 1
    ]
    return min(pairs, key=lambda pair: pair[0].cap, default=None)


def _try_mate(stage: Stage) -> Verdict:
    expected = stage.expected
    lab, partition = _mates(expected) or (expected.labs[0], expected.preemptable[0])
    stage.empty()
    one, other = lab.members[:2]
    lent = stage.submit(
        [JobRequest(lab.name, one.name, lab.name, partition.name, lab.cap, gpu_type=expected.type_in(partition.name))]
    )
    stage.until(lambda snapshot: snapshot.gpus(lent) == lab.cap, stage.patience(lab.cap))
    wanted = min(2, lab.cap)
    mine = stage.submit(
        [JobRequest(lab.name, other.name, lab.name, lab.partition, wanted, gpu_type=expected.type_in(lab.partition))]
    )
    arbiter = expected.cluster.preemption.arbiter
    pause = arbiter.interval if arbiter else 0
    done, snapshot = stage.until(
        lambda snapshot: snapshot.gpus(mine) == wanted, pause + stage.patience(wanted, evicts=True)
    )
    waited = [job.start - mine.at for job in snapshot.running(mine) if job.start]
    left, went = snapshot.gpus(lent), len(snapshot.evicted(lent))
    tried = f"{one.name} held all {lab.cap} GPUs of {lab.name} in {partition.name}; {other.name} requested {wanted}"
    if not done:
        return broken(tried, f"{snapshot.gpus(mine)} started ({snapshot.reasons(mine)})")
    wrong = [] if left == lab.cap - wanted else [f"{left} jobs of {partition.name} were left, not {lab.cap - wanted}"]
    happened = f"they started after {max(waited, default=0):.0f} s; {counted(went, 'job')} preempted and pending again"
    return verdict(tried, wrong, happened)


SPILL = Promise(
    "spill",
    "A job for several partitions runs in the next one when its user's limit is reached",
    ("SKY-130", "SKY-125"),
    _can_spill,
    _try_spill,
)
USER_OVERCAP = Promise(
    "user-overcap",
    "GPUs that members of a lab borrow from each other count against the lab's cap",
    ("SKY-128", "SKY-125"),
    _has_lent,
    _try_counts,
)
LABMATE = Promise(
    "labmate",
    "A labmate's job preempts jobs on GPUs borrowed within the lab",
    ("SKY-126", "SKY-129"),
    _has_arbiter,
    _try_mate,
)
