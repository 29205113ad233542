"""A twin's queue: scripts that submit, show and cancel jobs, and functions that read their output."""

import shlex
from collections.abc import Sequence
from datetime import UTC

from gpupool.cluster.model import Cluster
from gpupool.compile.system.people import groups_for
from gpupool.errors import TwinError
from gpupool.rehearsal.twin.jobs import Ask, Job, Refusal
from gpupool.shell import shell_file
from gpupool.slurm import times, tres
from gpupool.slurm.hostlists import expand

_SHOWN = (
    "JobArrayID", "UserName", "Account", "Partition", "QOS", "State", "Reason", "tres-alloc", "NodeList",
    "RestartCnt", "StartTime", "TimeLimit", "NumCPUs", "Name",
)  # fmt: skip
_WIDTHS = {"tres-alloc": 200, "NodeList": 1000, "Partition": 400}
# Slurm 22.05 truncates columns at their width, and has no separator between columns
_FORMAT = ",".join(f"{name}:{_WIDTHS.get(name, 64)}" for name in _SHOWN)

LOOK = f"TZ=UTC squeue -a -r -h -O {_FORMAT}"
ENDED = "TZ=UTC squeue -a -r -h -t all -o '%i|%T'; echo --; sacct -a -n -P -X -D -o JobID,State"


def submission(cluster: Cluster, jobs: Sequence[Ask]) -> str:
    """Return the script that submits jobs in order; it prints one line for each, with sbatch's error if refused."""
    groups = groups_for(cluster)
    parts = [_ONE]
    for job in jobs:
        user = cluster.users.get(job.user)
        if user is None and job.user != "root":
            raise TwinError(f"{job.user} is not a user of {cluster.name}")
        uid, gid, home = (user.uid, user.gid or groups["people"], user.home) if user else (0, 0, "/root")
        arguments = shlex.join([str(uid), str(gid), job.user, home, *job.options])
        parts.append(f"one {arguments} <<'END-OF-JOB'\n{job.body.rstrip()}\nEND-OF-JOB\n")
    return "".join(parts)


_ONE = shell_file(__package__, "queue_one.sh")


def answers(out: str, asked: int) -> list[str | Refusal]:
    """Return the job numbers and refusals in the output of `submission`; TwinError if their number is not `asked`."""
    results: list[str | Refusal] = []
    for line in out.splitlines():
        verdict, _, rest = line.partition(" ")
        if verdict == "taken":
            results.append(rest.strip())
        elif verdict == "refused":
            results.append(Refusal(rest.replace("sbatch: error: ", "").strip()))
    if len(results) != asked:
        raise TwinError(f"{asked} jobs were submitted, but there were {len(results)} answers")
    return results


def jobs(out: str) -> list[Job]:
    """Return the jobs in the output of `LOOK`."""
    return [_job(line) for line in out.splitlines() if line.strip()]


def _job(line: str) -> Job:
    texts: dict[str, str] = {}
    for name in _SHOWN:
        width = _WIDTHS.get(name, 64)
        texts[name], line = line[:width].strip(), line[width:]
    amounts = tres.read(texts["tres-alloc"])
    gpus = tres.gpus(amounts)
    nodes = texts["NodeList"]
    start = times.moment(texts["StartTime"], UTC)
    return Job(
        id=texts["JobArrayID"],
        user=texts["UserName"],
        account=texts["Account"],
        partition=texts["Partition"],
        qos=texts["QOS"],
        state=texts["State"],
        reason=texts["Reason"],
        gpus=gpus.pop("", 0),
        cpus=int(amounts.get("cpu") or texts["NumCPUs"] or 0),
        nodes=tuple(expand(nodes)) if nodes and nodes != "(null)" else (),
        restarts=int(texts["RestartCnt"] or 0),
        start=start.timestamp() if start else None,
        limit=times.seconds(texts["TimeLimit"]),
        mem=int(amounts.get("mem", 0)),
        name=texts["Name"],
        gpu_types=gpus,
    )


def ended(out: str) -> dict[str, str]:
    """Return the states of jobs in the output of `ENDED`; slurmctld's state overrides slurmdbd's."""
    here, _, kept = out.partition("--\n")
    states = dict(line.split("|", 1) for line in kept.splitlines() if "|" in line)
    states |= dict(line.split("|", 1) for line in here.splitlines() if "|" in line)
    # tasks of an array that never started share one line: `12_[3-8]`
    return {job: state.split()[0] for job, state in states.items() if state and "[" not in job}


CLEAR = shell_file(__package__, "queue_clear.sh")
