"""Accounts and partitions: borrowed GPUs are charged to a separate account, which no owners' partition accepts."""

from gpupool.rehearsal.expected import Expected
from gpupool.rehearsal.expected_claims import JobRequest
from gpupool.rehearsal.promises.base import Promise, Verdict, verdict, with_loans
from gpupool.rehearsal.stage import Stage
from gpupool.wording import counted

_HELD = ("--hold",)


def _try(stage: Stage) -> Verdict:
    expected = stage.expected
    must: list[JobRequest] = []  # to be accepted
    may_not: list[JobRequest] = []
    for loan in expected.loans:
        where = loan.partition.name
        for lab in expected.labs:
            own = next((user for user in lab.members if expected.may(user, loan.partition, loan.account)), None)
            if own is None:
                continue
            gpu = expected.type_in(where)
            must.append(JobRequest(lab.name, own.name, loan.account, where, gpu_type=gpu, more=_HELD))
            if not expected.admits(loan.partition, lab.name):
                may_not.append(JobRequest(lab.name, own.name, lab.name, where, gpu_type=gpu, more=_HELD))
        for partition in (*expected.owner_partitions, *expected.preemptable):
            if expected.admits(partition, loan.account):
                continue
            user = next((user for user, _ in expected.people(partition) if loan.account in user.accounts), None)
            if user:
                gpu = expected.type_in(partition.name)
                may_not.append(
                    JobRequest(user.account, user.name, loan.account, partition.name, gpu_type=gpu, more=_HELD)
                )
    taken, refused = stage.submit(must), stage.submit(may_not)
    stage.cancel(taken, refused)
    wrong = [
        f"{request.partition} accepted a job of account {request.account} ({request.user})"
        for request in refused.requests.values()
    ]
    wrong += [
        f"{request.partition} refused {request.user} with account {request.account}: {message}"
        for request, message in taken.refused
    ]
    tried = f"{counted(len(must), 'job')} with the right account, {len(may_not)} with the wrong one"
    return verdict(tried, wrong, "the first were accepted, the others refused")


OVERCAP = Promise(
    "overcap-account",
    "Borrowed GPUs are used through a separate account, and no owners' partition accepts that account",
    ("SKY-119", "SKY-120", "SKY-205", "SKY-032"),
    with_loans,
    _try,
)


def _other_labs(expected: Expected) -> list[JobRequest]:
    """Return a job in each partition that is closed to some lab; the labs take turns."""
    requests = []
    for turn, partition in enumerate(expected.owner_partitions):
        labs = [*expected.labs[turn % len(expected.labs) :], *expected.labs] if expected.labs else []
        if lab := next((lab for lab in labs if not expected.admits(partition, lab.name)), None):
            gpu = expected.type_in(partition.name)
            requests.append(
                JobRequest(lab.name, lab.members[0].name, lab.name, partition.name, gpu_type=gpu, more=_HELD)
            )
    return requests


def _closed(expected: Expected) -> str | None:
    return None if _other_labs(expected) else "every partition is open to every lab"


def _try_closed(stage: Stage) -> Verdict:
    requests = _other_labs(stage.expected)
    submitted = stage.submit(requests)
    stage.cancel(submitted)
    wrong = [f"{request.partition} accepted a job of {request.account}" for request in submitted.requests.values()]
    return verdict(f"{counted(len(requests), 'job')} in partitions of other labs", wrong, "all were refused")


CLOSED = Promise(
    "lab-partitions",
    "A lab's partition accepts no job of another lab",
    ("SKY-102",),
    _closed,
    _try_closed,
)
