"""GPU types: a job gets the type it requests, in every form of request, and every lab can use every type."""

from collections.abc import Iterator
from itertools import product

from gpupool.rehearsal.expected import Expected, Lab
from gpupool.rehearsal.expected_claims import JobRequest
from gpupool.rehearsal.promises.base import Promise, Verdict, verdict, with_labs
from gpupool.rehearsal.stage import Stage
from gpupool.wording import counted

_SEEN = "#!/bin/sh\nexit 0\n"


def _forms(expected: Expected, gpu: str) -> list[tuple[str, ...]]:
    counted = f"--gpus-per-node={gpu}:1" if expected.typed else "--gpus-per-node=1"
    return [
        (f"--gpus-per-node={gpu}:1",),
        (f"--gres=gpu:{gpu}:1",),
        (f"--gpus={gpu}:1",),
        (f"--constraint={gpu}", counted),
    ]


def _requests(expected: Expected) -> Iterator[tuple[JobRequest, tuple[str, ...]]]:
    """Yield jobs with their types: each lab on each type, each type in each form, and two types joined by `|`."""
    types = list(expected.cluster.gpu_types)
    labs = expected.labs
    # as many turns as labs or forms, whichever are more: each lab requests each type, in each form
    asked = {(turn % len(labs), gpu, (turn + kind) % 4) for turn in range(max(4, len(labs)))
             for kind, gpu in enumerate(types)}  # fmt: skip
    for lab, gpu, form in sorted(asked):
        yield _request(labs[lab], _forms(expected, gpu)[form]), (gpu,)
    if not expected.typed:
        for one, other in list(product(types, types))[1:2]:
            yield _request(labs[0], (f"--constraint={one}|{other}", "--gpus-per-node=1")), (one, other)


def _request(lab: Lab, more: tuple[str, ...]) -> JobRequest:
    return JobRequest(lab.name, lab.members[0].name, lab.name, lab.partition, gpus=0, more=("--mem=10M", *more))


def _try(stage: Stage) -> Verdict:
    stage.empty()
    asked = list(_requests(stage.expected))
    submitted = stage.submit((request for request, _ in asked), _SEEN)
    done, snapshot = stage.until(lambda snapshot: not snapshot.of(submitted), stage.patience(len(asked)))
    wrong = [f"{' '.join(request.more[1:])}: refused: {words}" for request, words in submitted.refused]
    if not done:
        wrong += [
            f"{' '.join(submitted.requests[job.array].more[1:])} waits ({job.reason})"
            for job in snapshot.pending(submitted)
        ]
        stage.cancel(submitted)
    listed = (
        stage.twin.run(f"sacct -X -n -P -o JobID,NodeList -j {','.join(submitted.requests)}").out
        if submitted.requests
        else ""
    )
    where = dict(line.split("|") for line in listed.splitlines())
    nodes = {node.slurm_name: node for node in stage.expected.compute}
    types = {id(request): gpus for request, gpus in asked}
    for number, request in submitted.requests.items():
        node = nodes.get(where.get(number, ""))
        if node and not set(types[id(request)]) & set(node.gpus):
            wrong.append(f"{' '.join(request.more[1:])} of {request.lab} ran on {node.name}")
    labs = len(stage.expected.labs)
    tried = f"{counted(len(asked), 'job')}: {counted(labs, 'lab')}, each type, as gres, as GPUs and as constraint"
    return verdict(tried, wrong, "each ran on a node of the type it requested")


def _not_made_because(expected: Expected) -> str | None:
    if reason := with_labs(expected):
        return reason
    if not expected.cluster.gpu_types:
        return "GPUs have no types in this inventory"
    everywhere = all(set(expected.types_in(lab.partition)) >= set(expected.cluster.gpu_types) for lab in expected.labs)
    return None if everywhere else "labs' partitions do not have all types"


TYPES = Promise(
    "types",
    "Every lab can use every GPU type, and gets the type it requests",
    ("SKY-037", "SKY-104", "SKY-136", "SKY-137", "SKY-138", "SKY-188"),
    _not_made_because,
    _try,
)
