"""Random cases: a job, and the changes of it. A seed and a number give the same case."""

import random
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from gpupool.cluster.model import Cluster

from .inventory import PROBE_USER
from .values import Values

#: Options that give no job to look at (they wait, test only or print), or that start a login shell.
_LEFT_OUT = frozenset(
    (
        "help",
        "usage",
        "version",
        "wait",
        "test-only",
        "verbose",
        "quiet",
        "parsable",
        "wrap",
        "hold",
        "get-user-env",
        "export-file",
    )
)
#: Options that older helps leave out.
_UNLISTED = ("prefer", "extra", "admin-comment", "hint", "ntasks-per-gpu", "network", "container")
_FLAGS = frozenset(
    ("contiguous", "overcommit", "no-requeue", "requeue", "reboot", "spread-job", "use-min-nodes", "no-kill")
) | {"oversubscribe", "ignore-pbs", "resv-ports"}
#: Options and fields that decide what a job gets; they are chosen more often.
_RESOURCES = (
    *("mem", "mem-per-cpu", "mem-per-gpu", "mem", "gpus", "gres", "gpus-per-node", "gpus-per-task", "cpus-per-task"),
    *("ntasks", "nodes", "mincpus", "ntasks-per-node", "cpus-per-gpu", "ntasks-per-gpu", "gres-flags", "exclusive"),
    *("overcommit", "extra-node-info", "hint", "core-spec", "threads-per-core", "tres-per-task", "nice"),
)
_RESOURCE_FIELDS = (
    *("MinMemoryNode", "MinMemoryCPU", "MemPerTres", "MinMemoryNode", "MinMemoryCPU", "MemPerTres", "TresPerJob"),
    *("TresPerNode", "Gres", "TresPerTask", "NumTasks", "CPUsPerTask", "NumCPUs", "MinCPUsNode", "NumNodes"),
    *("CpusPerTres", "OverSubscribe", "Nice", "Partition", "ReqThreads", "ReqCores", "NtasksPerNode"),
)
_OPTION = re.compile(r"^\s+(?:-\w, )?--([a-z][a-z0-9-]*)(\[?=?\S*)", re.MULTILINE)
_PAGE = "#!/bin/sh\n"
_SLEEP = "exec sleep 600\n"


@dataclass(frozen=True)
class Step:
    """A command of a case: its user, its words, its standard input, the seconds to wait before it."""

    user: str
    argv: list[str]
    text: str = ""
    wait: float = 0.0

    def shown(self) -> str:
        """Return the command as a shell line of limited length."""
        encoded = [word.encode("utf-8", "surrogateescape") for word in self.argv]
        parts = [shlex.quote(word.decode("utf-8", "backslashreplace")[:120]) for word in encoded]
        lines = [line[:100] for line in self.text.splitlines() if line.startswith("#SBATCH")]
        return " ".join([f"{self.user}:", *parts, *(f"<<{line!r}" for line in lines)])


@dataclass(frozen=True)
class Case:
    """A job by its number, and the commands on it. It may run for `stay` seconds if it holds no more than it may."""

    number: int
    steps: list[Step]
    stay: float = 1.0
    tasks: int = 1
    labels: frozenset[str] = field(default=frozenset())


class Cases:
    """Random cases with the options of a release of Slurm."""

    def __init__(self, cluster: Cluster, seed: int, listed: str, fields: Sequence[str], without: Sequence[str]) -> None:
        """Take the options from sbatch's help; `fields` are the names that scontrol knows.

        `without` are options that are left out, some with one value only (`spread-job`, `nodes=0-1`).
        """
        self.cluster, self.seed = cluster, seed
        listed_forms = {name: form for name, form in _OPTION.findall(listed) if name not in _LEFT_OUT}
        self.forms = {**dict.fromkeys(_UNLISTED, "="), **listed_forms}
        self.without = frozenset(without)
        for name in without:
            self.forms.pop(name, None)
        self.other_fields = list(fields)
        self.users = [user for user in cluster.users.values() if user.account and user.name != PROBE_USER]

    def case(self, number: int) -> Case:
        """Return the case of a number."""
        pick = random.Random(f"jobs-{self.seed}-{number}")
        values = Values(self.cluster, pick)
        user = pick.choice(self.users)
        lines: list[str] = []
        argv = self._base(pick, user.account)
        argv += self._some(pick, values, lines)
        if pick.random() < 0.04:
            argv += [":", *self._some(pick, values, [])]
        changes: list[Step] = []
        if pick.random() < 0.4:
            hold = pick.random() < 0.75
            argv = ["--hold", *argv] if hold else argv
            changes = self._changes(pick, values, user.name, held=hold)
        script = _PAGE + "".join(f"{line}\n" for line in lines) + self._body(pick)
        submit = Step(user.name, ["sbatch", "--parsable", "-o", "/dev/null", *argv], script)
        return Case(number, [submit, *changes], stay=pick.choice((1.0, 1.0, 1.0, 3.0, 15.0)))

    def _base(self, pick: random.Random, account: str | None) -> list[str]:
        """Return options with which most jobs can start."""
        chance = pick.random()
        if chance < 0.2:
            argv = ["-p", "overcap", "-A", "overcap"]
        elif chance < 0.9:
            argv = ["-p", pick.choice(("debug", "short", "long", "user-overcap", str(account)))]
        else:
            argv = []
        argv += ["-t", pick.choice(("60", "30", "120"))] if pick.random() < 0.8 else []
        resources: tuple[list[str], ...] = (
            [],
            [],
            ["--gpus=1"],
            [f"--gres=gpu:{pick.choice((1, 1, 2))}"],
            ["--gpus-per-node=1", "-N1"],
            ["-n1", f"-c{pick.choice((1, 2, 4))}"],
            ["-N1", f"-n{pick.choice((1, 2, 4))}"],
            [f"--mem={pick.choice((1, 2, 4))}G"],
        )
        return argv + pick.choice(resources)

    def _some(self, pick: random.Random, values: Values, lines: list[str]) -> list[str]:
        """Return some options; options that are written into the script are added to `lines` instead."""
        count = pick.choice((0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 7))
        argv = []
        for _ in range(count):
            known = [name for name in _RESOURCES if name in self.forms]
            name = pick.choice(known) if pick.random() < 0.75 else pick.choice(sorted(self.forms))
            value = "" if name in _FLAGS else values.of_option(name, self.forms[name])
            if f"{name}={value}" in self.without:
                continue
            option = f"--{name}={value}" if value or name not in {*_FLAGS, "exclusive"} else f"--{name}"
            if pick.random() < 0.12 and "\n" not in option and "\0" not in option:
                lines.append(f"#SBATCH {option}")
            else:
                argv.append(option)
            if pick.random() < 0.04 and argv:
                argv.append(argv[-1])
        return argv

    def _changes(self, pick: random.Random, values: Values, user: str, *, held: bool) -> list[Step]:
        steps = []
        for _ in range(pick.choice((1, 1, 1, 2, 3))):
            chance = pick.random()
            if chance < 0.85:
                change = ["scontrol", "update", "JobId=@JOB@"]
                for _ in range(pick.choice((1, 1, 1, 2, 3))):
                    chance = pick.random()
                    name = (
                        pick.choice(_RESOURCE_FIELDS)
                        if chance < 0.7
                        else pick.choice(sorted(values.fields) if chance < 0.95 else self.other_fields)
                    )
                    change.append(f"{name}={values.of_field(name)}")
            else:
                change = ["scontrol", pick.choice(("requeue", "hold", "release", "top", "suspend", "resume")), "@JOB@"]
            wait = 0.0 if held else pick.choice((0.0, 0.0, 2.0))
            steps.append(Step(self._changer(pick, user), change, wait=wait))
        return [*steps, Step(user, ["scontrol", "release", "@JOB@"])] if held else steps

    def _changer(self, pick: random.Random, user: str) -> str:
        """Return the user of a change: mostly the job's, else another one, coordinators among them."""
        return user if pick.random() < 0.85 else pick.choice(self.users).name

    def _body(self, pick: random.Random) -> str:
        long = pick.random()
        return (f"# {'x' * (3_500_000 if long < 0.001 else 200_000)}\n" if long < 0.01 else "") + _SLEEP
