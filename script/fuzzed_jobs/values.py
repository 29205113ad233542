"""Random values of sbatch's options and of the fields of `scontrol update job`."""

import random
from collections.abc import Callable, Mapping

from gpupool.cluster.model import Cluster

Maker = Callable[[], str]

#: Numbers at the ends of C's types and Slurm's NO_VAL and INFINITE of 8, 16, 32 and 64 bits, with their neighbours.
# Each group is as likely as another one.
_BOUNDS = (
    ("0",),
    ("-1", "1", "254", "255"),
    ("65533", "65534", "65534", "65535"),
    ("2147483645", "2147483647", "2147483648"),
    ("4294967293", "4294967294", "4294967295"),
    ("9223372036854775807", "18446744073709551614", "18446744073709551615"),
)
#: The ends of the range that sbatch's manual gives for a nice value.
_NICE = ("-2147483645", "2147483645")
_NO_NUMBERS = ("1.5", "1e3", "0x10", "*", "", " 1", "x", "1-", "-")
#: With another value, slurmd starts a login shell in a namespace, which a twin's container may not have: slurmd ends.
_MADE_ONLY = frozenset(("export",))
_GIBIBYTES = (1, 2, 4, 8, 12, 16, 24, 31, 32, 33, 40, 48, 64, 100, 128, 200, 240)
_SUFFIXES = ("K", "M", "G", "T", "k", "MB", "P")
# the chances of an odd text and of a bound, alike for all numbers and amounts; a suffix is one of the bounds
_ODD, _BOUND = 0.02, 0.4
_REPEATED, _OF_TWO = 0.18, 0.06


class Values:
    """Values with the names of a cluster; the same generator gives the same values."""

    def __init__(self, cluster: Cluster, pick: random.Random) -> None:
        """Set the names, and the makers of values by option and by field."""
        self.cluster, self.pick = cluster, pick
        self.types = [*cluster.gpu_types] * 2 + [""] * 6 + ["t4"]
        self.nodes = [node.slurm_name for node in cluster.having("compute")]
        self.options = self._options()
        self.fields = self._fields()

    def of_option(self, name: str, form: str) -> str:
        """Return a value for an option; one without a maker gets a number or a text. `form` is from sbatch's help."""
        maker = self.options.get(name)
        if maker and (name in _MADE_ONLY or self.pick.random() < 0.97):
            return maker()
        numeric = any(word in form.lower() for word in ("=n", "mb", "count", "min", "=s", "=c", "=t"))
        return self.number(1, 2, 4) if numeric == (self.pick.random() < 0.8) else self.text()

    def of_field(self, name: str) -> str:
        """Return a value for a field of a job."""
        maker = self.fields.get(name)
        return maker() if maker and self.pick.random() < 0.97 else self.pick.choice((self.number, self.text))(1, 2)

    def one_of(self, *values: str) -> Maker:
        """Return a maker of one of these values."""
        return lambda: self.pick.choice(values)

    def number(self, *usual: int, ends: tuple[str, ...] = ()) -> str:
        """Return a usual number, or sometimes a bound or one with a suffix. `ends` are the bounds of this number."""
        chance = self.pick.random()
        if chance < _ODD:
            return self.pick.choice(_NO_NUMBERS)
        plain = str(self.pick.choice(usual or (1, 2, 64)))
        if chance > _ODD + _BOUND:
            return plain
        if ends and self.pick.random() < 0.5:
            return self.pick.choice(ends)
        suffixed = tuple(plain + suffix for suffix in _SUFFIXES)
        return self.pick.choice(self.pick.choice((*_BOUNDS, (f"{plain}K",), suffixed)))

    def count(self) -> str:
        """Return a small number of tasks, CPUs or nodes."""
        return self.number(1, 1, 2, 2, 3, 4, 8, 16)

    def nice(self) -> str:
        """Return a nice value."""
        return self.number(0, 1, 100, -100, 100_000, ends=_NICE)

    def memory(self) -> str:
        """Return an amount of memory, with or without a unit."""
        if self.pick.random() < _ODD + _BOUND:
            return self.number(*_GIBIBYTES)
        amount = self.pick.choice(_GIBIBYTES)
        return f"{amount}G" if self.pick.random() < 0.7 else str(amount * self.pick.choice((512, 1024)))

    def megabytes(self) -> str:
        """Return an amount of memory for a field that takes a number only."""
        return self.number(*(amount * 1024 for amount in _GIBIBYTES), 64, 512)

    def time(self) -> str:
        """Return a time limit."""
        return self.pick.choice(("10", "60", "4:00:00", "1-0", "2-0", "7-0", "0", "-1", "INFINITE", self.number(1, 60)))

    def gpus(self) -> str:
        """Return a number of GPUs as `--gpus` takes it: a number, types, sometimes the same twice."""
        return self._listed(lambda kind, count: f"{kind}:{count}" if kind else count)

    def gres(self) -> str:
        """Return GPUs as `--gres` takes them, sometimes with other resources."""
        prefix = self.pick.choice((*["gpu"] * 18, "gres/gpu", "gres:gpu"))
        text = self._listed(lambda kind, count: ":".join(word for word in (prefix, kind, count) if word))
        return self.pick.choice((*[text] * 25, f"{text},shard:1", f"cpu=2,{text}", "none", f"{text}*2"))

    def tres(self) -> str:
        """Return GPUs as the Tres fields of a job take them."""
        sign = self.pick.choice((":", "=", ":"))
        text = self._listed(lambda kind, count: "gres/gpu" + (f":{kind}" if kind else "") + sign + (count or "1"))
        return self.pick.choice((*[text] * 12, f"cpu=2,{text}", f"cpu:{self.count()}", f"mem={self.memory()}", ""))

    def per_gpu(self, amount: Maker) -> str:
        """Return an amount for each GPU as the fields take it."""
        word, sign = self.pick.choice((*["gres/gpu"] * 8, "gres:gpu", "gpu")), self.pick.choice("::=")
        return self._repeated(lambda: f"{word}{sign}{amount()}")

    def hosts(self) -> str:
        """Return a list of nodes."""
        some = self.pick.sample(self.nodes, self.pick.choice((1, 1, 2)))
        return self.pick.choice((",".join(some), ",".join(some), "ctl", "nowhere", "ALL", "", f"{some[0]},{some[0]}"))

    def feature(self) -> str:
        """Return a constraint."""
        kind = self.pick.choice(self.types) or "a40"
        return self.pick.choice((kind, kind, f"{kind}&a40", f"[{kind}*1]", f"({kind}|a40)", f"{kind}*2", "none", ""))

    def text(self, *_: int) -> str:
        """Return a text: long, not UTF-8, of several lines, or a mark that our programs write."""
        known = ("x", "é", "a\udcff", "\udc80\udcfe", "x\n7 RUNNING", "\x1b[31m", "%j/../x", "a|b|c", "'\"`$(id)", "")
        ours = ("[gpupool: leaves at 1, run 0, for job 1]", "[gpupool-allowed]", "[gpupool-guard: run 0, x]")
        if self.pick.random() < 0.12:
            return self.pick.choice("xé\udcff") * self.pick.choice((300, 1100, 5000, 40_000))
        return self.pick.choice((*known, *known, *ours))

    def date(self) -> str:
        """Return a moment."""
        return self.pick.choice(("now", "now+1", "now+3", "now+1hour", "2030-01-01", "1999-01-01", "x", self.number()))

    def named(self, *names: str) -> Maker:
        """Return a maker of a name, sometimes of several, unknown or in capitals."""

        def maker() -> str:
            some = self.pick.choices((*names, *names, *names, "unknown", ""), k=self.pick.choice((1, 1, 1, 1, 2)))
            text = ",".join(some)
            return text.upper() if self.pick.random() < 0.05 else text

        return maker

    def array(self) -> str:
        """Return the indexes of an array."""
        return self.pick.choice(("0-3", "1-5%2", "0-20:5", "7", "1,3", "0-1", "0", "5-1", "0-70000", self.number(1, 3)))

    def dependency(self) -> str:
        """Return a dependency on an early job, or on the job itself."""
        kind = self.pick.choice(("afterany", "afterok", "after", "afternotok", "aftercorr", "expand", "singleton"))
        job = self.pick.choice(("1", "2", "99999999", "@JOB@", "1:2", "1_1", self.number(1)))
        return kind if kind == "singleton" else f"{kind}:{job}"

    def _listed(self, word: Callable[[str, str], str]) -> str:
        kind = self.pick.choice(self.types)
        if self.pick.random() < _OF_TWO:
            return ",".join(word(kind, self.number(1, 2)) for kind in (kind, self.pick.choice(self.types)))
        return self._repeated(lambda: word(kind, self.number(1, 1, 1, 2, 2, 4)))

    def _repeated(self, word: Maker) -> str:
        """Return a word, sometimes the same word several times in a list."""
        return ",".join([word()] * (self.pick.choice((2, 2, 3, 8)) if self.pick.random() < _REPEATED else 1))

    def _options(self) -> Mapping[str, Maker]:
        accounts, partitions = self.named(*self.cluster.accounts), self.named(*self.cluster.partitions)
        return {
            **dict.fromkeys(("mem", "mem-per-cpu", "mem-per-gpu"), self.memory),
            **dict.fromkeys(("gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket"), self.gpus),
            "gres": self.gres,
            "tres-per-task": self.tres,
            **dict.fromkeys(("cpus-per-task", "ntasks", "mincpus", "cpus-per-gpu", "ntasks-per-node"), self.count),
            **dict.fromkeys(("ntasks-per-gpu", "ntasks-per-socket", "ntasks-per-core"), self.count),
            **dict.fromkeys(("sockets-per-node", "cores-per-socket", "threads-per-core"), self.count),
            **dict.fromkeys(("core-spec", "thread-spec", "requeue-count"), self.count),
            "nodes": lambda: self.pick.choice((self.number(1, 1, 2, 3), "1-2", "1-4", "2-1", "0-1", "1,2")),
            "extra-node-info": self.one_of("1", "1:4", "*:*:1", "1:16:1", "1-2:2", "*:2", "0", "-1"),
            "gres-flags": self.one_of(*["enforce-binding", "disable-binding", "multiple-tasks-per-sharing"] * 3, "x"),
            "exclusive": self.one_of(*["", "user"] * 3, "mcs", "topo", "x"),
            "distribution": self.one_of("block", "cyclic", "plane=4", "arbitrary", "block:cyclic", "pack", "nopack"),
            "hint": self.one_of("compute_bound", "memory_bound", "nomultithread", "multithread", "help"),
            "account": accounts,
            "partition": partitions,
            "qos": self.named(*self.cluster.qos),
            "array": self.array,
            "dependency": self.dependency,
            **dict.fromkeys(("time", "time-min", "delay-boot"), self.time),
            **dict.fromkeys(("begin", "deadline"), self.date),
            **dict.fromkeys(("nodelist", "exclude"), self.hosts),
            **dict.fromkeys(("constraint", "prefer", "cluster-constraint"), self.feature),
            **dict.fromkeys(("nice", "priority"), self.nice),
            "tmp": self.memory,
            "signal": self.one_of("USR1", "B:USR1@10", "R:KILL", "9@0", "STOP@65535", "x"),
            "switches": self.one_of("1", "1@10", "0", "-1", "4294967295@1"),
            "mail-type": self.one_of("ALL", "END", "NONE", "x"),
            "propagate": self.one_of("ALL", "NONE", "NOFILE", "x"),
            "profile": self.one_of("all", "none", "task"),
            "cpu-freq": self.one_of("low", "high", "1-2:performance", "x"),
            "oom-kill-step": self.one_of("0", "1"),
            "export": self.one_of("ALL", "all"),
            "output": self.one_of("/dev/null", "%j.out", "none/x", "/dev/full"),
            "clusters": self.one_of("fuzz", "all", "other"),
            "licenses": self.one_of("a:1", "x", "", "a@b:2"),
            "reservation": self.one_of("x", ""),
            "uid": self.one_of("0", "20001"),
            "gid": self.one_of("0", "5001"),
            "chdir": self.one_of("/tmp", "/nowhere", "/"),
        }

    def _fields(self) -> Mapping[str, Maker]:
        of = self.options
        yes = self.one_of(*["yes", "no", "0", "1"] * 2, "-1", "65534")
        return {
            **dict.fromkeys(("MinMemoryNode", "MinMemoryCPU", "MinTmpDiskNode"), self.megabytes),
            **dict.fromkeys(("TresPerJob", "TresPerNode", "TresPerSocket", "TresPerTask"), self.tres),
            "Gres": self.gres,
            "MemPerTres": lambda: self.per_gpu(self.memory),
            "CpusPerTres": lambda: self.per_gpu(self.count),
            **dict.fromkeys(("MinCPUsNode", "NumTasks", "CPUsPerTask", "NumCPUs", "NtasksPerNode"), self.count),
            **dict.fromkeys(("ReqCores", "ReqSockets", "ReqThreads", "ReqProcs", "CoreSpec", "ThreadSpec"), self.count),
            "NumNodes": of["nodes"],
            "OverSubscribe": yes,
            "Contiguous": yes,
            "Requeue": yes,
            "Reboot": yes,
            "Account": of["account"],
            "Partition": of["partition"],
            "QOS": of["qos"],
            "Nice": of["nice"],
            "Priority": of["priority"],
            "SiteFactor": of["nice"],
            **dict.fromkeys(("TimeLimit", "TimeMin", "DelayBoot"), self.time),
            **dict.fromkeys(("StartTime", "EndTime", "Deadline", "EligibleTime", "AccrueTime"), self.date),
            **dict.fromkeys(("ReqNodeList", "ExcNodeList"), self.hosts),
            **dict.fromkeys(("Features", "Prefer", "ClusterFeatures"), self.feature),
            "Dependency": self.dependency,
            "ArrayTaskThrottle": self.count,
            "Switches": of["switches"],
            "UserID": of["uid"],
            "MailType": of["mail-type"],
            "ReservationName": of["reservation"],
            "Licenses": of["licenses"],
            "TresBind": self.one_of("gres/gpu:closest", "gres/gpu:x", ""),
            "TresFreq": self.one_of("gpu:low", "gpu:x"),
            **dict.fromkeys(("Comment", "AdminComment", "Extra", "JobName", "WCKey", "MailUser"), self.text),
            **dict.fromkeys(("StdOut", "StdErr", "StdIn", "WorkDir", "BurstBuffer", "Container"), self.text),
        }
