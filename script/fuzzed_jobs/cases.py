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
#: Options and fields that decide what a job gets. They are chosen more often; memory twice, as most limits are of it.
_MEMORY = ("mem", "mem-per-cpu", "mem-per-gpu")
_GPUS = ("gpus", "gres", "gpus-per-node", "gpus-per-task", "gpus-per-socket", "tres-per-task")
_RESOURCES = (
    *(*_MEMORY, *_MEMORY, *_GPUS, "cpus-per-task", "ntasks", "nodes", "mincpus", "ntasks-per-node", "cpus-per-gpu"),
    *("ntasks-per-gpu", "gres-flags", "exclusive", "overcommit", "extra-node-info", "hint", "core-spec"),
    *("threads-per-core", "nice"),
)
_MEMORY_FIELDS = ("MinMemoryNode", "MinMemoryCPU", "MemPerTres")
_RESOURCE_FIELDS = (
    *(*_MEMORY_FIELDS, *_MEMORY_FIELDS, "TresPerJob", "TresPerNode", "Gres", "TresPerTask", "NumTasks", "CPUsPerTask"),
    *("NumCPUs", "MinCPUsNode", "NumNodes", "CpusPerTres", "OverSubscribe", "Nice", "Partition", "ReqThreads"),
    *("ReqCores", "NtasksPerNode"),
)
#: Options of which sbatch takes one only.
_EXCLUSIVE = (
    frozenset(_MEMORY),
    frozenset(("cpus-per-task", "cpus-per-gpu", "tres-per-task")),
    frozenset(("ntasks-per-gpu", "tres-per-task", "gpus-per-task", "gpus-per-socket")),
    frozenset(("hint", "ntasks-per-core", "threads-per-core", "extra-node-info")),
    frozenset(("gres", "gpus-per-node")),
)
#: Options that sbatch takes beside another one only.
_NEEDED = {"gpus-per-task": "ntasks", "tres-per-task": "ntasks", "gpus-per-socket": "sockets-per-node"}
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
        changed = pick.random() < 0.55
        some = self._some(pick, values, pick.choice((0, 1, 1, 2) if changed else (1, 2, 2, 3, 3, 4)))
        argv = self._base(pick, user.account, {name for name, _ in some}) + self._written(pick, some, lines)
        if pick.random() < 0.03:
            argv += [":", *self._written(pick, self._some(pick, values, 1), [])]
        changes: list[Step] = []
        if changed:
            hold = pick.random() < 0.85
            argv = ["--hold", *argv] if hold else argv
            changes = self._changes(pick, values, user.name, held=hold)
        script = _PAGE + "".join(f"{line}\n" for line in lines) + self._body(pick)
        submit = Step(user.name, ["sbatch", "--parsable", "-o", "/dev/null", *argv], script)
        return Case(number, [submit, *changes], stay=pick.choice((1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 3.0, 15.0)))

    def _base(self, pick: random.Random, account: str | None, chosen: set[str]) -> list[str]:
        """Return options with which most jobs can start, beside the chosen ones."""
        chance = pick.random()
        argv = []
        if chance < 0.2:
            argv = ["-p", "overcap", "-A", "overcap"]
        elif chance < 0.9:
            argv = ["-p", pick.choice(("debug", "short", "long", "long", "user-overcap", str(account)))]
        argv += ["-t", pick.choice(("60", "30", "120"))] if pick.random() < 0.8 else []
        if chosen & {*_GPUS}:
            return argv
        nodes = [] if "nodes" in chosen else ["-N1"]
        tasks = [] if "ntasks" in chosen else [f"-n{pick.choice((1, 2, 4))}"]
        cpus = [] if chosen & {"cpus-per-task", "cpus-per-gpu"} else [f"-c{pick.choice((1, 2, 4))}"]
        memory = [] if chosen & {*_MEMORY} else [f"--mem={pick.choice((1, 2, 4))}G"]
        gpus = [["--gpus=1"], [f"--gres=gpu:{pick.choice((1, 1, 2))}"], ["--gpus-per-node=1", *nodes]]
        return argv + pick.choice([[], *gpus, *gpus, cpus, nodes + tasks, memory])

    def _some(self, pick: random.Random, values: Values, count: int) -> list[tuple[str, str]]:
        """Return the names and values of at most so many options; mostly such that sbatch takes together."""
        some: list[tuple[str, str]] = []
        known = [name for name in _RESOURCES if name in self.forms]
        for _ in range(count):
            name = pick.choice(known) if pick.random() < 0.85 else pick.choice(sorted(self.forms))
            excluded = any({name, other} <= group for group in _EXCLUSIVE for other, _ in some)
            if excluded and pick.random() < 0.95:
                continue
            names = [name]
            if (needed := _NEEDED.get(name)) in self.forms and needed not in dict(some) and pick.random() < 0.95:
                names.append(needed)
            for name in names:
                value = "" if name in _FLAGS else values.of_option(name, self.forms[name])
                if f"{name}={value}" not in self.without:
                    some.append((name, value))
        return some

    def _written(self, pick: random.Random, some: list[tuple[str, str]], lines: list[str]) -> list[str]:
        """Return options as words; options that are written into the script are added to `lines` instead."""
        argv = []
        for name, value in some:
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
        for _ in range(pick.choice((1, 1, 2))):
            chance = pick.random()
            if chance < 0.9:
                change = ["scontrol", "update", "JobId=@JOB@"]
                for _ in range(pick.choice((1, 1, 2))):
                    chance = pick.random()
                    name = (
                        pick.choice(_RESOURCE_FIELDS)
                        if chance < 0.8
                        else pick.choice(sorted(values.fields) if chance < 0.96 else self.other_fields)
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
