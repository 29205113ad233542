"""Owners' jobs are never preempted, and a lost node ends only the jobs that ran on it."""

from gpupool.rehearsal.expected import Expected
from gpupool.rehearsal.expected_claims import JobRequest
from gpupool.rehearsal.promises.base import Promise, Verdict, broken, kept, some, with_labs
from gpupool.rehearsal.promises.waves import labs_full, lacking
from gpupool.rehearsal.stage import Stage
from gpupool.rehearsal.twin.jobs import RUNS
from gpupool.wording import counted


def _try_stay(stage: Stage) -> Verdict:
    expected = stage.expected
    labs_full(stage)
    probes = []
    for lab in expected.labs[:1]:
        user = lab.members[0].name
        open_to = [
            partition for partition in expected.owner_partitions if expected.may(lab.members[0], partition, lab.name)
        ]
        probes += [JobRequest(lab.name, user, lab.name, partition.name) for partition in (open_to[0], open_to[-1])]
        probes += [
            JobRequest(lab.name, user, loan.account, loan.partition.name, owned=False) for loan in expected.loans
        ]
    submitted = stage.submit(probes)
    stage.steady(lambda _: not stage.watch.disturbed, 4)
    stage.cancel(submitted)
    ended = _evicted(stage)
    jobs = counted(len(stage.watch.owner_starts), "job")
    tried = f"{jobs} of owners during the whole rehearsal, with jobs of the highest tier pending"
    if stage.watch.disturbed or ended:
        return broken(tried, some([*stage.watch.disturbed.values(), *ended]))
    return kept(tried, "no job was preempted or restarted")


def _evicted(stage: Stage) -> list[str]:
    states = stage.twin.history(sorted(stage.watch.owner_starts)) if stage.watch.owner_starts else {}
    return [f"{job} ended as {state}" for job, state in states.items() if state in ("PREEMPTED", "REQUEUED")]


def _try_lost(stage: Stage) -> Verdict:
    expected = stage.expected
    claims = labs_full(stage)
    before = {job.id: job for job in stage.look().jobs if job.state in RUNS}
    held = [node for job in before.values() for node in job.nodes]
    kept_from = {name for job in before.values() if job.array in stage.earlier.spared for name in job.nodes}
    nodes = [node for node in expected.compute if node.gpus and node.slurm_name not in kept_from]
    node = max(nodes, key=lambda node: (held.count(node.slurm_name), node.gpu_count))
    hit = {job.id for job in before.values() if node.slurm_name in job.nodes}
    tried = f"{node.name} ({node.gpu_count} GPUs, {counted(len(hit), 'job')}) was lost with all labs at their caps"
    stage.watch.lost.add(node.name)
    try:
        stage.twin.lose(node.slurm_name)
        theirs = {name for lab in expected.labs for name in expected.cluster.partitions[lab.partition].nodes}
        left = sum(other.gpu_count for other in expected.compute if other.name in theirs - {node.name})
        wanted = min(left, sum(submitted.gpus for submitted in claims.values()))
        done, snapshot = stage.until(
            lambda snapshot: sum(snapshot.gpus(submitted) for submitted in claims.values()) >= wanted,
            stage.patience(len(hit), again=True),
        )
        wrong = (
            []
            if done
            else [f"labs hold {sum(snapshot.gpus(submitted) for submitted in claims.values())} GPUs, {wanted} are left"]
        )
        now = {job.id: job for job in snapshot.jobs}
        for number, job in before.items():
            if number in hit:
                if number not in now:
                    wrong.append(f"job {number} of {job.user} was on {node.name} and was not requeued")
            elif number not in now or now[number].start != job.start:
                wrong.append(f"job {number} of {job.user} was on another node, and did not continue")
    finally:
        stage.twin.restore(node.slurm_name)
        back, snapshot = stage.until(
            lambda snapshot: all(snapshot.gpus(submitted) >= submitted.gpus for submitted in claims.values()),
            stage.patience(len(hit), again=True),
        )
        stage.watch.lost.clear()
    if not back:
        held_now = sum(snapshot.gpus(submitted) for submitted in claims.values())
        wrong.append(f"{held_now} GPUs were in use again after it came back ({some(lacking(snapshot, claims))})")
    if wrong:
        return broken(tried, some(wrong))
    return kept(tried, f"the others continued, {wanted} GPUs in use; its jobs ran again after it came back")


def _more_nodes(expected: Expected) -> str | None:
    nodes = [node for node in expected.compute if node.gpus]
    return with_labs(expected) or (None if len(nodes) > 1 else "there is only one node with GPUs")


STAY = Promise(
    "owners-stay",
    "A lab's jobs within its cap are never evicted",
    ("SKY-036",),
    with_labs,
    _try_stay,
)
LOST = Promise(
    "lost-node",
    "A lost node affects only the jobs that ran on it, and these run again",
    (),
    _more_nodes,
    _try_lost,
)
