"""Answers of a real slurmctld of each release, as transcripts; run as recorded.py RELEASE… to record them again.

A transcript is a list of steps: `$ COMMAND`, its standard output, each line of its standard error after `! `, and `=
EXIT CODE`. `# EVENT` is an event on the cluster that is not a command: a job begins, slurmctld stops.
"""

import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "unit" / "upkeep" / "recorded"
RELEASES = ("22.05", "24.11", "26.05")

_RESERVE = "starttime=now duration=infinite users=root flags=maint,ignore_jobs"
_SHOW, _RESERVED = "scontrol show node gpu-[1-2]", "env TZ=UTC scontrol -o show reservation"
_STATES = "running,suspended,completing,configuring,stage_out,signaling,stopped"
_JOBS = f"squeue -a -h -r -w gpu-[1-2] -t {_STATES} -o '%i|%u|%a|%N|%e'"
_SRUN = (
    "srun --quiet --nodes=1 --ntasks=1 --cpus-per-task=1 --nodelist=gpu-1 --chdir=/ --time=5 --job-name=gpupool-test "
    "--partition=gpupool_maintain --reservation=gpupool_maintain --gres=gpu:a40:8"
)

#: Commands for the slurmctld of the small inventory, in this order.
STEPS = (
    "scontrol show config",
    _SHOW,
    "scontrol show node nowhere",
    "scontrol show node gpu-1,nowhere",
    _RESERVED,
    _JOBS,
    # reservations
    f"scontrol create reservationname=gpupool_maintain {_RESERVE} nodes=gpu-1",
    f"scontrol create reservationname=gpupool_maintain {_RESERVE} nodes=gpu-1",
    f"scontrol create reservationname=gpupool_other {_RESERVE} nodes=nowhere",
    _RESERVED,
    _SHOW,
    "scontrol update reservationname=gpupool_maintain nodes=gpu-[1-2]",
    _RESERVED,
    "scontrol update reservationname=nosuch nodes=gpu-1",
    "squeue -h -R gpupool_maintain -o %i",
    "scontrol delete reservationname=nosuch",
    "scontrol delete reservationname=gpupool_maintain",
    # drains
    "scontrol update nodename=gpu-1 state=drain",
    "scontrol update nodename=nowhere state=drain reason=x",
    "scontrol update nodename=gpu-1 state=drain reason='gpupool: maintain: 2 changes'",
    _SHOW,
    "scontrol update nodename=gpu-1 state=undrain",
    _SHOW,
    "scontrol update nodename=gpu-1 state=undrain",
    # jobs
    "# ann runs a job on gpu-2",
    _JOBS,
    _SHOW,
    "scontrol update nodename=gpu-2 state=drain reason='gpupool: maintain: 2 changes'",
    _SHOW,
    "# ann's job ends",
    _JOBS,
    _SHOW,
    "scontrol update nodename=gpu-2 state=undrain",
    # the partition of test jobs, and test jobs
    f"scontrol create reservationname=gpupool_maintain {_RESERVE} nodes=gpu-1",
    "scontrol create partitionname=gpupool_maintain nodes=gpu-1 rootonly=yes hidden=yes maxtime=10 state=up",
    "scontrol create partitionname=gpupool_maintain nodes=gpu-1 rootonly=yes hidden=yes maxtime=10 state=up",
    "scontrol update partitionname=gpupool_maintain nodes=gpu-1",
    "scontrol update partitionname=nosuch nodes=gpu-1",
    f"{_SRUN} true",
    f"{_SRUN} sh -c 'echo GPU 0: memory error; exit 1'",
    f"{_SRUN.replace('a40:8', 'a40:9')} true",
    "scontrol delete partitionname=gpupool_maintain",
    "scontrol delete partitionname=gpupool_maintain",
    "scontrol delete reservationname=gpupool_maintain",
    # reboots
    "scontrol update nodename=gpu-1 state=drain reason='gpupool: maintain: reboot'",
    "# gpu-1 cannot be reached",
    "scontrol reboot ASAP nextstate=resume reason='gpupool: maintain: reboot' gpu-1",
    "scontrol reboot ASAP nextstate=resume reason='gpupool: maintain: reboot' nowhere",
    _SHOW,
    # a node that is down
    "scontrol update nodename=gpu-2 state=down reason='no power'",
    _SHOW,
    # no answer
    "# slurmctld stops",
    _SHOW,
    _RESERVED,
    _JOBS,
    "scontrol update nodename=gpu-1 state=undrain",
)  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """The output of a command, and its exit code."""

    out: str
    err: str
    code: int


@dataclass(frozen=True)
class Step:
    """A command and its answer; an event has no answer."""

    text: str
    answer: Answer | None

    @property
    def command(self) -> list[str]:
        """The words of the command."""
        return [] if self.answer is None else shlex.split(self.text)


def transcript(release: str) -> list[Step]:
    """Return the steps recorded from a release."""
    return list(_parsed((FOLDER / f"{release}.txt").read_text(encoding="utf-8")))


def _parsed(text: str) -> Iterator[Step]:
    command, out, err = "", "", ""
    for line in text.splitlines(keepends=True):
        if line.startswith("# "):
            yield Step(line.rstrip("\n"), None)
        elif line.startswith("$ "):
            command, out, err = line[2:].rstrip("\n"), "", ""
        elif line.startswith("= "):
            yield Step(command, Answer(out, err, int(line[2:])))
        elif line.startswith("! "):
            err += line[2:]
        else:
            out += line


def _record(release: str) -> None:
    from inventories import SMALL

    from gpupool.cluster.load import load
    from gpupool.rehearsal.twin import Ask, Twin

    assert release in RELEASES
    with Twin.start(load(SMALL), version=release) as twin, (FOLDER / f"{release}.txt").open("w") as file:  # type: ignore[arg-type]

        def event(text: str) -> None:
            match text.split()[-1]:
                case "gpu-2":
                    twin.submit([Ask("ann", ("-w", "gpu-2", "--gres=gpu:a40:1", "--time=60", "--mem=1G"))])
                    twin.do("until squeue -h -t running | grep -q .; do sleep 0.2; done", text)
                case "ends":
                    twin.do("scancel -u ann; while squeue -h | grep -q .; do sleep 0.2; done", text)
                case "reached":
                    twin.do("pkill -STOP -f 'slurmd.*gpu-1'", text)
                case "stops":
                    twin.do("pkill -x slurmctld; while pgrep -x slurmctld >/dev/null; do sleep 0.2; done", text)

        for step in STEPS:
            if step.startswith("# "):
                event(step)
                file.write(f"{step}\n")
                continue
            done = twin.run(f"cd /; timeout 60 {step}")
            out = done.out
            if "show config" in step:
                out = "".join(line for line in out.splitlines(keepends=True) if line.startswith("SLURM_"))
            # the kernel version is this machine's
            out = re.sub(r"OS=Linux .*", "OS=Linux 6.12.57 ", out)
            err = "".join(f"! {line}\n" for line in done.err.splitlines())
            file.write(f"$ {step}\n{out}{err}= {done.code}\n")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        _record(name)
