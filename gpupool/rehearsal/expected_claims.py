"""Claims of labs: their caps as jobs of several shapes, within all limits of the inventory."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import gcd

from gpupool.cluster.accounts import User
from gpupool.rehearsal.expected import Allowance, Expected, Lab


@dataclass(frozen=True)
class JobRequest:
    """`count` equal jobs of one user, each with `gpus` GPUs on one node; `cpus` is None for Slurm's default.

    `lab` is the user's lab, even if the jobs have another account. `owned` jobs are not preemptable. `more` has further
    options of sbatch.
    """

    lab: str
    user: str
    account: str
    partition: str
    count: int = 1
    gpus: int = 1
    cpus: int | None = None
    gpu_type: str | None = None
    owned: bool = True
    more: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """Return sbatch's options, without the count."""
        kind = f"{self.gpu_type}:" if self.gpu_type else ""
        return (
            f"--partition={self.partition}",
            f"--account={self.account}",
            "--nodes=1",
            *((f"--gpus-per-node={kind}{self.gpus}",) if self.gpus else ()),
            *((f"--cpus-per-task={self.cpus}",) if self.cpus else ()),
            *self.more,
        )


@dataclass(frozen=True)
class Piece:
    """The request of one job of a claim."""

    gpus: int
    cpus: int | None = None
    gpu_type: str | None = None


def single(expected: Expected, lab: Lab, count: int | None = None) -> list[JobRequest]:
    """Return a lab's cap, or `count` GPUs, as jobs of one GPU with default memory and CPUs."""
    kind = expected.type_in(lab.partition)
    return hand_out(expected, lab, [Piece(1, None, kind)] * (lab.cap if count is None else count))


def singles(expected: Expected) -> dict[str, list[JobRequest]]:
    """Return every lab's cap as jobs of one GPU, each with a type if jobs must request one."""
    if not expected.typed:
        return {lab.name: single(expected, lab) for lab in expected.labs}
    pieces = _taken(expected, Counter({Piece(1, None, gpu): count for gpu, count in _gpus(expected).items()}))
    return {lab.name: hand_out(expected, lab, pieces[lab.name]) for lab in expected.labs}


def evenly(expected: Expected) -> dict[str, list[JobRequest]]:
    """Return every lab's cap as single jobs of the largest size that divides every cap and every node's GPUs."""
    sizes = [node.gpu_count for node in expected.shared if node.gpus] + [lab.cap for lab in expected.labs]
    size = gcd(*sizes)
    typed = _taken(expected, Counter({Piece(size, None, gpu): count // size for gpu, count in _gpus(expected).items()}))
    claims = {}
    for lab in expected.labs:
        pieces = typed[lab.name] if expected.typed else [Piece(size)] * (lab.cap // size)
        requests = hand_out(expected, lab, pieces)
        # no arrays, because Slurm preempts for one task of an array at a time
        claims[lab.name] = [replace(request, count=1) for request in requests for _ in range(request.count)]
    return claims


def with_cpus(expected: Expected) -> dict[str, list[JobRequest]]:
    """Return every lab's cap as jobs of one GPU with the recommended number of CPUs."""
    supply = Counter(
        {Piece(1, expected.cpus_per_gpu.get(gpu) or None, gpu): count for gpu, count in _gpus(expected).items()}
    )
    pieces = _taken(expected, supply)
    return {lab.name: hand_out(expected, lab, pieces[lab.name]) for lab in expected.labs}


def whole_nodes(expected: Expected) -> tuple[dict[str, list[JobRequest]], dict[str, list[JobRequest]]]:
    """Return every lab's cap in two parts: jobs on all GPUs of a node with their CPUs, then jobs for the rest."""
    supply: Counter[Piece] = Counter()
    for node in expected.shared:
        for gpu, count in node.gpus.items():
            supply[Piece(count, expected.cpus_per_gpu.get(gpu, 0) * count or None, gpu)] += 1
    first = _taken(expected, supply)
    free = sorted(supply.elements(), key=lambda piece: piece.gpus)
    rest: dict[str, list[Piece]] = {}
    for lab in _choosiest_first(expected):
        left, types = lab.cap - sum(request.gpus for request in first[lab.name]), expected.types_in(lab.partition)
        rest[lab.name] = []
        while left and (fits := [piece for piece in free if piece.gpu_type in types]):
            piece = next((piece for piece in fits if piece.gpus >= left), fits[-1])
            gpus = min(left, piece.gpus)
            each = piece.cpus // piece.gpus if piece.cpus else 0
            rest[lab.name].append(Piece(gpus, each * gpus or None, piece.gpu_type))
            free.remove(piece)
            if piece.gpus > gpus:
                free.append(replace(piece, gpus=piece.gpus - gpus, cpus=each * (piece.gpus - gpus) or None))
                free.sort(key=lambda piece: piece.gpus)
            left -= gpus
    labs = expected.labs
    return (
        {lab.name: hand_out(expected, lab, first[lab.name]) for lab in labs},
        {lab.name: hand_out(expected, lab, rest[lab.name], first[lab.name]) for lab in labs},
    )


def _gpus(expected: Expected) -> Counter[str]:
    counts: Counter[str] = Counter()
    for node in expected.shared:
        counts.update(dict(node.gpus))
    return counts


def _choosiest_first(expected: Expected) -> list[Lab]:
    """Return the labs, first the labs whose partitions have the fewest GPU types: the others have more choice."""
    return sorted(expected.labs, key=lambda lab: len(expected.types_in(lab.partition)))


def _taken(expected: Expected, supply: Counter[Piece]) -> dict[str, list[Piece]]:
    """Take pieces for each lab's cap, of types in the lab's partition, from the supply; return them by lab."""
    return {
        lab.name: list(_take(lab, supply, lab.cap, expected.types_in(lab.partition)))
        for lab in _choosiest_first(expected)
    }


def _take(lab: Lab, supply: Counter[Piece], left: int, types: Container[str | None]) -> Iterator[Piece]:
    """Yield pieces for `left` GPUs, each with the most CPUs that leave enough of the lab's CPUs for the others."""
    share = lab.group.cpu
    while left:
        pieces = (piece for piece in supply if supply[piece] > 0 and piece.gpus <= left and piece.gpu_type in types)
        available = sorted(pieces, key=lambda piece: piece.cpus or 0)
        if not available:
            return
        least = (available[0].cpus or 1) / available[0].gpus
        fits = [
            piece for piece in available if share is None or (piece.cpus or 1) + least * (left - piece.gpus) <= share
        ]
        piece = fits[-1] if fits else available[0]
        supply[piece] -= 1
        cpus = piece.cpus
        if share is not None:
            if cpus and cpus > share * piece.gpus // left:
                cpus = max(1, share * piece.gpus // left) if not fits else cpus
            share -= cpus or 1
        left -= piece.gpus
        yield replace(piece, cpus=cpus)


@dataclass
class _Left:
    """The limits of a user, and the part in use."""

    allowance: Allowance
    used: Counter[str] = field(default_factory=Counter)

    def take(self, piece: Piece, cpus: int) -> bool:
        wants = {"gpu": piece.gpus, "cpu": piece.cpus or cpus, "jobs": 1}
        for key, amount in wants.items():
            limit = getattr(self.allowance, key)
            if limit is not None and self.used[key] + amount > limit:
                return False
        self.used.update(wants)
        return True


def hand_out(expected: Expected, lab: Lab, pieces: Iterable[Piece], before: Iterable[Piece] = ()) -> list[JobRequest]:
    """Return jobs of the lab's users for the pieces, within the users' limits or in a partition that lifts them.

    `before` are pieces that the users already hold. A piece that fits nowhere is left out.
    """
    partition = expected.cluster.partitions[lab.partition]
    left = {user: _Left(expected.allowance(user, partition, lab.name)) for user in lab.members}
    lifted = [partition for partition in expected.lab_loans(lab.name) if partition.entry.lifts_per_user]
    for piece in before:
        cpus = expected.unasked_cpus(lab.partition, piece.gpus, piece.gpu_type)
        any(left[user].take(piece, cpus) for user in lab.members)
    counts: Counter[tuple[User, str, bool, Piece]] = Counter()
    for piece in pieces:
        cpus = expected.unasked_cpus(lab.partition, piece.gpus, piece.gpu_type)
        user = next((user for user in lab.members if left[user].take(piece, cpus)), None)
        if user:
            counts[user, lab.partition, True, piece] += 1
        elif lifted:
            counts[lab.members[0], lifted[-1].name, False, piece] += 1
    return [
        JobRequest(lab.name, user.name, lab.name, where, count, piece.gpus, piece.cpus, piece.gpu_type, owned)
        for (user, where, owned, piece), count in counts.items()
    ]


def requested_gpus(requests: Iterable[JobRequest]) -> int:
    """Return the number of GPUs of all requests."""
    return sum(request.gpus * request.count for request in requests)


def one_more(expected: Expected, lab: Lab) -> JobRequest:
    """Return a job of one GPU above a lab's cap, for a user and a partition without another limit.

    It requests little memory, so that only the cap limits it.
    """
    lifted = [partition for partition in expected.lab_loans(lab.name) if partition.entry.lifts_per_user]
    partition = expected.cluster.partitions[lab.partition]
    held = Counter({user.name: 0 for user in lab.members})
    for request in single(expected, lab):
        if request.owned:
            held[request.user] += request.gpus * request.count
    gpu_limits = {user.name: expected.allowance(user, partition, lab.name).gpu for user in lab.members}
    free = next((user for user, most in gpu_limits.items() if most is None or held[user] < most), None)
    where = lifted[-1].name if lifted and free is None else lab.partition
    user = free or lab.members[0].name
    return JobRequest(
        lab.name,
        user,
        lab.name,
        where,
        gpu_type=expected.type_in(where),
        owned=where == lab.partition,
        more=("--mem=10M",),
    )
