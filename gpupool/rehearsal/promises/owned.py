"""What labs own otherwise than as a number of GPUs: their nodes, their GPUs of a type, their CPUs."""

from collections.abc import Iterator

from gpupool.cluster.model import Node
from gpupool.rehearsal.expected import Estate, Expected, Lab
from gpupool.rehearsal.expected_claims import Piece, Wish, hand_out, singles
from gpupool.rehearsal.promises.base import Promise, Verdict, count, verdict
from gpupool.rehearsal.stage import Scene, Sent, Stage

_CPUS = 8  # of one job that claims or borrows CPUs
_LITTLE = "--mem=10M"  # nothing but what is owned shall be in a job's way


def _on(node: Node) -> tuple[str, ...]:
    return f"--nodelist={node.slurm_name}", _LITTLE


def _type(expected: Expected, node: Node) -> str | None:
    return next(iter(node.gpus), None) if expected.typed else None


def _cpus(expected: Expected, node: Node) -> int:
    """Return the most CPUs of a job on all GPUs of a node."""
    allowed = [expected.cluster.scheduler.most_cpus(gpu) for gpu in node.gpus]
    # of a job for GPUs of no type the least counts
    most = min((it for it in allowed if it is not None), default=None)
    return min(node.cpus, most * node.gpu_count) if most else node.cpus


def _crowd(expected: Expected) -> Iterator[Wish]:
    """Yield jobs that give way, on every GPU that is lent, and on the CPUs of nodes where CPUs are owned."""
    for loan in expected.loans[:1]:
        user = next((it for it, _ in expected.people(loan.partition) if loan.account in it.accounts), None)
        nodes = [expected.cluster.nodes[name] for name in loan.partition.nodes] if user else []
        cpus = any(it.cpus or any(not expected.cluster.nodes[n].gpus for n in it.nodes) for it in expected.estates)
        for node in nodes:
            who = (user.account, user.name, loan.account, loan.partition.name) if user else ("", "", "", "")
            yield Wish(*who, node.gpu_count, 1, gpu_type=_type(expected, node), owned=False, more=_on(node))
            free = node.cpus - max(node.cpus_kept, 1) * node.gpu_count
            if cpus and free >= _CPUS:
                yield Wish(*who, free // _CPUS, 0, _CPUS, owned=False, more=_on(node))


def _claims(expected: Expected, estate: Estate) -> list[Wish]:
    """Return jobs that hold all that a lab owns: one for each whole node, one for each GPU, some for CPUs."""
    wishes = []
    for turn, name in enumerate(estate.nodes):
        node, user = expected.cluster.nodes[name], estate.members[turn % len(estate.members)]
        where = estate.partitions[name]
        wishes.append(
            Wish(estate.name, user.name, estate.name, where, 1, node.gpu_count, _cpus(expected, node),
                 _type(expected, node), more=_on(node))
        )  # fmt: skip
    whole, rest = divmod(estate.cpus or 0, _CPUS)
    pieces = {estate.partition: [Piece(0, _CPUS)] * whole + [Piece(0, rest)] * (rest > 0)}
    for gpu, number in estate.types.items():
        pieces.setdefault(estate.places[gpu], []).extend([Piece(1, None, gpu)] * number)
    for partition, claimed in pieces.items():
        wishes += hand_out(expected, _lab(estate, partition), claimed)
    return wishes


def _lab(estate: Estate, partition: str) -> Lab:
    return Lab(estate.name, sum(estate.types.values()), estate.members, estate.group, partition)


def _one_more(estate: Estate) -> list[Wish]:
    name, user = estate.name, estate.members[-1].name
    wishes = [Wish(name, user, name, estate.places[gpu], gpus=1, gpu_type=gpu, more=(_LITTLE,)) for gpu in estate.types]
    if estate.cpus is not None:
        wishes.append(Wish(name, user, name, estate.partition, gpus=0, cpus=1, more=(_LITTLE,)))
    return wishes


def _strangers(expected: Expected, estate: Estate) -> Iterator[Wish]:
    """Yield a job of a user of another account in each partition of a lab's nodes, as a job that nobody evicts."""
    other = next((it for it in expected.cluster.users.values() if it.account != estate.name), None)
    for name, partition in estate.partitions.items():
        if other:
            more = (*_on(expected.cluster.nodes[name]), "--hold")
            yield Wish(other.account, other.name, other.account, partition, gpus=0, more=more)


def _running(sent: Sent, scene: Scene) -> bool:
    return len(scene.running(sent)) == sum(it.count for it in sent.wishes.values())


def _try(stage: Stage) -> Verdict:
    expected = stage.expected
    stage.empty()
    crowd = stage.send(_crowd(expected))
    stage.until(lambda scene: _running(crowd, scene), stage.patience(len(crowd.wishes)))
    borrowed = len(stage.look().running(crowd))
    others = stage.send([wish for wishes in singles(expected).values() for wish in wishes])
    claims = {it.name: stage.send(_claims(expected, it)) for it in expected.estates}
    jobs = sum(wish.count for sent in claims.values() for wish in sent.wishes.values())
    stage.until(
        lambda scene: all(_running(sent, scene) for sent in (*claims.values(), others)),
        stage.patience(jobs, evicts=True),
    )
    above = stage.send([wish for it in expected.estates for wish in _one_more(it)])
    strangers = stage.send([wish for it in expected.estates for wish in _strangers(expected, it)])
    stage.cancel(strangers)
    stage.until(lambda scene: bool(scene.running(above)), stage.patience())
    scene = stage.look()
    wrong = [f"{wish.lab}: a job was refused: {message}" for sent in claims.values() for wish, message in sent.refused]
    wrong += [
        f"{name} does not hold all that it owns: {count(len(scene.pending(sent)), 'job')} pending "
        f"({scene.reasons(sent)})"
        for name, sent in claims.items()
        if not _running(sent, scene)
    ]
    if not _running(others, scene):
        wrong.append(f"other labs do not hold their caps ({scene.reasons(others)})")
    wrong += [f"{job.account} runs one job more than it owns" for job in scene.running(above)]
    wrong += [f"{it.partition} took a job of {it.account}" for it in strangers.wishes.values()]
    stage.empty()
    tried = f"{count(len(claims), 'lab')} claimed all they own while {count(borrowed, 'job')} of others ran there"
    return verdict(tried, wrong, f"all held it at once, in {count(jobs, 'job')}, and nothing more")


def _applies(expected: Expected) -> str | None:
    return None if expected.estates else "no lab with users owns nodes, GPUs of a type or CPUs"


OWNED = Promise(
    "owned",
    "Every lab gets the nodes, the GPUs of a type and the CPUs that it owns, and no more",
    (),
    _applies,
    _try,
)
