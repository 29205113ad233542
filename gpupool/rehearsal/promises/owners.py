"""Owners stay: nobody evicts them, and a node that is lost takes only what ran on it."""

from gpupool.rehearsal.expected import Expected
from gpupool.rehearsal.expected_claims import Wish
from gpupool.rehearsal.promises.base import Promise, Verdict, broken, count, kept, some, with_labs
from gpupool.rehearsal.promises.waves import labs_full, lacking
from gpupool.rehearsal.stage import RUNS, Stage


def _try_stay(stage: Stage) -> Verdict:
    expected = stage.expected
    labs_full(stage)
    probes = []
    for lab in expected.labs[:1]:
        user = lab.members[0].name
        open_to = [it for it in expected.owners if expected.may(lab.members[0], it, lab.name)]
        probes += [Wish(lab.name, user, lab.name, it.name) for it in (open_to[0], open_to[-1])]
        probes += [Wish(lab.name, user, it.account, it.partition.name, owned=False) for it in expected.loans]
    sent = stage.send(probes)
    stage.steady(lambda _: not stage.disturbed, 4)
    stage.cancel(sent)
    ended = _evicted(stage)
    tried = f"{count(len(stage.owned), 'job')} of owners through all of the rehearsal, the highest tier against them"
    if stage.disturbed or ended:
        return broken(tried, some([*stage.disturbed.values(), *ended]))
    return kept(tried, "none was stopped or restarted")


def _evicted(stage: Stage) -> list[str]:
    states = stage.twin.history(sorted(stage.owned)) if stage.owned else {}
    return [f"{job} ended as {state}" for job, state in states.items() if state in ("PREEMPTED", "REQUEUED")]


def _try_lost(stage: Stage) -> Verdict:
    expected = stage.expected
    claims = labs_full(stage)
    before = {job.id: job for job in stage.look().jobs if job.state in RUNS}
    held = [node for job in before.values() for node in job.nodes]
    kept_from = {name for job in before.values() if job.array in stage.spared for name in job.nodes}
    nodes = [it for it in expected.compute if it.gpus and it.slurm_name not in kept_from]
    node = max(nodes, key=lambda node: (held.count(node.slurm_name), node.gpu_count))
    hit = {job.id for job in before.values() if node.slurm_name in job.nodes}
    tried = f"{node.name} ({node.gpu_count} GPUs, {count(len(hit), 'job')}) was lost with all labs at their caps"
    stage.lost.add(node.name)
    try:
        stage.twin.lose(node.slurm_name)
        theirs = {name for lab in expected.labs for name in expected.cluster.partitions[lab.partition].nodes}
        left = sum(it.gpu_count for it in expected.compute if it.name in theirs - {node.name})
        wanted = min(left, sum(it.gpus for it in claims.values()))
        done, scene = stage.until(
            lambda scene: sum(scene.gpus(sent) for sent in claims.values()) >= wanted,
            stage.patience(len(hit), again=True),
        )
        wrong = [] if done else [f"labs hold {sum(scene.gpus(it) for it in claims.values())} GPUs, {wanted} are left"]
        now = {job.id: job for job in scene.jobs}
        for number, job in before.items():
            if number in hit:
                if number not in now:
                    wrong.append(f"job {number} of {job.user} was on {node.name} and is gone")
            elif number not in now or now[number].start != job.start:
                wrong.append(f"job {number} of {job.user} was elsewhere, and did not run on")
    finally:
        stage.twin.restore(node.slurm_name)
        back, scene = stage.until(
            lambda scene: all(scene.gpus(sent) >= sent.gpus for sent in claims.values()),
            stage.patience(len(hit), again=True),
        )
        stage.lost.clear()
    if not back:
        held_now = sum(scene.gpus(it) for it in claims.values())
        wrong.append(f"{held_now} GPUs were in use again after it came back ({some(lacking(scene, claims))})")
    if wrong:
        return broken(tried, some(wrong))
    return kept(tried, f"the others ran on, {wanted} GPUs in use; its jobs waited and ran again when it was back")


def _more_nodes(expected: Expected) -> str | None:
    nodes = [it for it in expected.compute if it.gpus]
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
