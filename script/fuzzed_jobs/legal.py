"""Random jobs that the inventory allows, in many spellings: neither plugin nor guard may refuse, hold or end one."""

import random

from gpupool.cluster.model import Cluster

from .cases import Case, Step
from .inventory import PROBE_USER

_PAGE = "#!/bin/sh\nexec sleep 600\n"
_GIB = 1024


class Legal:
    """Random cases whose jobs request no more than the inventory allows."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        """Take the names and the maximum amounts of memory of a cluster."""
        self.cluster, self.seed = cluster, seed
        most = cluster.scheduler.max_memory
        self.per_gpu = {kind: most.of_gpu(kind) or 8 * _GIB for kind in cluster.gpu_types}
        # a job without a type may get any GPU
        self.per_gpu[""] = min(self.per_gpu.values())
        self.per_cpu = most.per_cpu or _GIB
        self.users = [user for user in cluster.users.values() if user.account and user.name != PROBE_USER]
        self.kinds = ["", *cluster.gpu_types]

    def case(self, number: int) -> Case:
        """Return the case of a number."""
        pick = random.Random(f"legal-{self.seed}-{number}")
        user = pick.choice(self.users)
        argv, minutes = self._place(pick, str(user.account))
        argv += self._gpus(pick) if pick.random() < 0.5 else self._cpus(pick)
        tasks = pick.choice((1, 4, 10, 20, 30))
        argv += [f"--array=0-{tasks - 1}"] if tasks > 1 else []
        argv += self._harmless(pick)
        changes = []
        hold = pick.random() < 0.2
        for _ in range(pick.choice((0, 0, 0, 1, 2))):
            field = pick.choice((f"TimeLimit={minutes // 2}", "Comment=x", f"Nice={pick.randint(1, 900)}", "JobName=y"))
            changes.append(Step(user.name, ["scontrol", "update", "JobId=@JOB@", field]))
        if hold:
            argv.append("--hold")
            changes.append(Step(user.name, ["scontrol", "release", "@JOB@"]))
        else:
            changes = []
        submit = Step(user.name, ["sbatch", "--parsable", "-o", "/dev/null", *argv], _PAGE)
        return Case(number, [submit, *changes], stay=1.0, tasks=tasks)

    def _place(self, pick: random.Random, account: str) -> tuple[list[str], int]:
        """Return partition, account and time limit, and the time limit in minutes."""
        name = pick.choice(("short", "long", account, "user-overcap", "overcap", "debug", "short,long", ""))
        minutes = pick.choice((10, 60, 240))
        argv = [f"-t{minutes}"] if pick.random() < 0.7 or name == "debug" else []
        if name == "overcap":
            return [*argv, "-p", "overcap", "-A", "overcap"], minutes
        argv += pick.choice(([], ["-A", account]))
        argv += pick.choice(([], ["--qos=normal"]))
        return argv + ([f"--partition={name}"] if name else []), minutes

    def _gpus(self, pick: random.Random) -> list[str]:
        """Return options for one or two GPUs of one node, with at most the memory that they may have."""
        count = pick.choice((1, 1, 2))
        kind = pick.choice(self.kinds)
        typed = f"{kind}:{count}" if kind else str(count)
        cpus = pick.choice((1, 1, 2, 3)) * count
        each = self.per_gpu[kind]
        most = count * each
        form = pick.choice(
            (
                [f"--gpus={typed}", "-N1"],
                [f"--gres=gpu:{typed}"],
                [f"--gpus-per-node={typed}", "--nodes=1"],
                [f"-n{count}", f"--gpus-per-task={kind + ':' if kind else ''}1", "-N1"],
            )
        )
        one_task = not any(word.startswith("--gpus-per-task") for word in form)
        # the smallest nodes have a little less memory than the maximum of all their GPUs
        amount = pick.choice((1 if count == 1 else 0.9, 0.5, 0.25))
        memory = pick.choice(("", "mem", "mem-per-gpu", "mem-per-cpu"))
        options = [f"-n1 -c{cpus}"] if one_task else [f"-c{cpus // count}"]
        argv = [*form, *" ".join(options).split()]
        if memory == "mem":
            argv.append(f"--mem={int(most * amount)}")
        elif memory == "mem-per-gpu":
            argv.append(f"--mem-per-gpu={int(each * amount)}M")
        elif memory == "mem-per-cpu":
            argv.append(f"--mem-per-cpu={int(most * amount / cpus)}")
        return argv

    def _cpus(self, pick: random.Random) -> list[str]:
        """Return CPUs without GPUs: no more than a node has beside the CPUs kept for GPUs, or whole nodes."""
        if pick.random() < 0.1:
            return ["--exclusive", "-N1", *pick.choice(([], ["--mem=0"]))]
        cpus = pick.choice((1, 1, 2, 4))
        form = pick.choice(
            (["-n1", f"-c{cpus}"], [f"-n{cpus}", "-N1"], [f"--ntasks={cpus}", f"--ntasks-per-node={cpus}", "-N1"])
        )
        amount = pick.choice((1, 0.5))
        memory = pick.choice(([], [f"--mem={int(cpus * self.per_cpu * amount)}M"], [f"--mem-per-cpu={self.per_cpu}"]))
        return form + memory

    def _harmless(self, pick: random.Random) -> list[str]:
        """Return options that change nothing of what a job gets."""
        some = (
            *("--requeue", "--no-requeue", "--nice=100", "--comment=x", "--job-name=é", "--export=ALL"),
            *("--open-mode=append", "--dependency=singleton", "--no-kill", "--signal=USR1@60", "--begin=now"),
        )
        return pick.sample(some, pick.choice((0, 0, 1, 2)))
