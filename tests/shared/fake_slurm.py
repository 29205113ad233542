"""A model of slurmctld: nodes, jobs and reservations, read and changed by Slurm's own commands.

Its answers, errors included, are those recorded from a release (`recorded.py`) with the values of the model in them. An
unknown command fails the test: AssertionError.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ClusterShell.NodeSet import NodeSet
from recorded import Answer, transcript

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.slurm.times import moment

_BOOT_SECONDS = 90.0
_FINE = Answer("", "", 0)


@dataclass
class FakeNode:
    """A node: its state in slurmctld, and the result of its next test job and its next boot.

    `flags` are the words of its state besides IDLE and MIXED. `test` is the output of its test job, "" if it passes.
    `booted` and `started` (slurmd's start) are in seconds since 1970.
    """

    name: str
    number: int
    cpus: int
    memory: int
    gres: str
    version: str
    flags: list[str] = field(default_factory=list)
    reason: str = ""
    by: str = "root"
    booted: int = 0
    started: int = 0
    test: str = ""
    comes_back: bool = True
    unheard: bool = False  # slurmctld pings a node after an undrain, and shows it as not responding until it answers


@dataclass
class FakeJob:
    """A running job of a user; `ends` is its end in Slurm's notation, `starts` its start in seconds since 1970."""

    id: str
    user: str
    account: str
    nodes: tuple[str, ...]
    ends: str
    reservation: str = ""
    starts: int = 0


class FakeSlurm:
    """The Slurm of a small cluster; `now` returns the time, `later` schedules a call in some seconds."""

    def __init__(
        self,
        cluster: Cluster,
        release: str,
        now: Callable[[], float],
        later: Callable[[float, Callable[[], None]], None],
    ) -> None:
        steps = transcript(release)
        self._texts = [(step.text, step.answer) for step in steps if step.answer]
        self._answers = [answer for _, answer in self._texts]
        self._recorded = {step.text: step.answer for step in reversed(steps) if step.answer}
        stopped = [step.text for step in steps].index("# slurmctld stops")
        self._away = {step.text: step.answer for step in steps[stopped + 1 :] if step.answer}
        self._now, self._later = now, later
        self.config = self._recorded["scontrol show config"].out
        version = self.config.split()[-1]
        self.nodes = {
            node.slurm_name: _fake(node, number, version) for number, node in enumerate(_computing(cluster), 1)
        }
        for node in self.nodes.values():
            node.booted = node.started = int(now()) - 86400
        self.jobs: list[FakeJob] = []
        self.reservations: dict[str, tuple[list[str], int]] = {}
        self.partitions: dict[str, list[str]] = {}
        self.away = False

    # Events

    def run_job(self, node: str, user: str = "ann", account: str = "red", ends: str = "2026-11-26T14:58:34") -> FakeJob:
        """Start a job of a user on a node."""
        job = FakeJob(str(len(self.jobs) + 1), user, account, (node,), ends, starts=int(self._now()))
        self.jobs.append(job)
        self.tick()
        return job

    def add(self, node: Node) -> None:
        """Add a node to slurm.conf, whose slurmd runs."""
        self.nodes.setdefault(node.slurm_name, _fake(node, len(self.nodes) + 1, self.config.split()[-1]))
        self.nodes[node.slurm_name].booted = int(self._now())

    def drain(self, node: str, reason: str, by: str = "operator") -> None:
        """Drain a node as a person would."""
        found = self.nodes[node]
        found.flags, found.reason, found.by = [*dict.fromkeys((*found.flags, "DRAIN"))], reason, by

    def resume(self, node: str) -> None:
        """Resume a node as a person would."""
        self.nodes[node].flags.clear()

    def tick(self) -> None:
        """Let slurmctld check its nodes, as it does periodically."""
        for node in self.nodes.values():
            node.unheard = False
            reserved = any(node.name in nodes for nodes, _ in self.reservations.values())
            node.flags = [flag for flag in node.flags if flag not in ("MAINTENANCE", "RESERVED")]
            node.flags += ["MAINTENANCE", "RESERVED"] if reserved and "DRAIN" not in node.flags else []
            if "REBOOT_REQUESTED" in node.flags:
                node.flags = ["DOWN", *(flag for flag in node.flags if flag != "REBOOT_REQUESTED"), "REBOOT_ISSUED"]
                node.reason, node.by = f"{node.reason} : reboot issued", "slurm"
                self._later(_BOOT_SECONDS, lambda node=node: self._boot(node))  # type: ignore[misc]

    def boot(self, name: str) -> None:
        """Boot a node."""
        self._boot(self.nodes[name])

    def _boot(self, node: FakeNode) -> None:
        if node.comes_back:
            node.flags, node.reason = [], ""
            node.booted = node.started = int(self._now())

    # Commands

    def run(self, command: list[str]) -> Answer:
        """Return the answer to a command."""
        if self.away:
            return self._without(command)
        match [word for word in command if command[0] == "squeue" or word not in ("env", "TZ=UTC", "-o")]:
            case ["scontrol", "show", "config"]:
                return Answer(self.config, "", 0)
            case ["scontrol", "show", "node", *names]:
                return self._show(list(NodeSet(names[0])) if names else list(self.nodes))
            case ["scontrol", "show", "reservation"]:
                return self._reservations()
            case ["scontrol", "show", "reservation", name]:
                return self._reservations() if name in self.reservations else Answer("", "", 1)
            case ["scontrol", "create" | "update" | "delete" as act, first, *rest]:
                kind, _, name = first.partition("=")
                values = dict(word.split("=", 1) for word in rest)
                return getattr(self, f"_{act}_{kind.removesuffix('name')}")(name, values)  # type: ignore[no-any-return]
            case ["scontrol", "reboot", "ASAP", "nextstate=resume", reason, name]:
                return self._reboot(name, reason.partition("=")[2])
            case ["squeue", "-a", "-h", "-r", "-w", names, "-t", _, "-o", "%i|%u|%a|%N|%e"]:
                jobs = [job for job in self.jobs if {*job.nodes} & {*NodeSet(names)}]
                return Answer("".join(f"{_row(job)}\n" for job in jobs), "", 0)
            case ["SLURM_TIME_FORMAT=%s", "squeue", "-a", "-h", "-r", "-w", names, "-t", _, "%i|%S"]:
                jobs = [job for job in self.jobs if {*job.nodes} & {*NodeSet(names)}]
                return Answer("".join(f"{job.id}|{job.starts}\n" for job in jobs), "", 0)
            case ["SLURM_TIME_FORMAT=%s", "squeue", "-a", "-h", "-r", "-w", names, "-t", _, "%i|%e"]:
                jobs = [job for job in self.jobs if {*job.nodes} & {*NodeSet(names)}]
                return Answer(
                    "".join(
                        f"{job.id}|{int(end.timestamp()) if (end := moment(job.ends)) else 'NONE'}\n" for job in jobs
                    ),
                    "",
                    0,
                )
            case ["squeue", "-h", "-R", name, "-o", "%i"]:
                return Answer("".join(f"{job.id}\n" for job in self.jobs if job.reservation == name), "", 0)
            case ["scancel", *ids]:
                self.jobs = [job for job in self.jobs if job.id not in ids]
                return _FINE
            case ["srun", *rest]:
                return self._srun(rest)
        raise AssertionError(f"the fake slurmctld does not know: {shlex.join(command)}")

    def _without(self, command: list[str]) -> Answer:
        """Return the answer to a command while slurmctld does not run."""
        text = shlex.join(command)
        for recorded, answer in self._away.items():
            if recorded.split()[:2] == text.split()[:2] and ("reservation" in recorded) == ("reservation" in text):
                return answer
        return self._away["scontrol update nodename=gpu-1 state=undrain"]

    def _like(self, recorded: str, **names: str) -> Answer:
        """Return a recorded answer with other names in it."""
        answer = self._recorded[recorded]
        out, err = answer.out, answer.err
        for old, new in names.items():
            out, err = out.replace(old, new), err.replace(old, new)
        return Answer(out, err, answer.code)

    # Nodes

    def _show(self, names: Iterable[str]) -> Answer:
        out, code = "", 0
        for name in names:
            if node := self.nodes.get(name):
                out += self._block(node)
            else:
                out, code = out + f"Node {name} not found\n", 1
        return Answer(out, "", code)

    def _block(self, node: FakeNode) -> str:
        """Return the recorded block of an idle node with the values of this node."""
        block = self._recorded["scontrol show node gpu-[1-2]"].out.partition("NodeName=gpu-2")[0]
        jobs = [job for job in self.jobs if node.name in job.nodes]
        base = "MIXED" if jobs else "IDLE"
        flags = [*node.flags, *(("NOT_RESPONDING",) if node.unheard else ())]
        state = "+".join(flags if "DOWN" in flags else [base, *flags])
        for key, value in {
            "NodeName": node.name,
            "CPUTot": str(node.cpus),
            "RealMemory": str(node.memory),
            "NodeAddr": f"10.90.2.{node.number}",
            "Port": str(17000 + node.number),
            "Version": node.version,
            "State": state,
            "BootTime": "None" if node.unheard else _time(node.booted),
            "SlurmdStartTime": _time(node.started),
            "CPUAlloc": str(len(jobs)),
            "AllocMem": str(1024 * len(jobs)),
            "AllocTRES": f"cpu={len(jobs)},mem={len(jobs)}G,gres/gpu={len(jobs)},gres/gpu:a40={len(jobs)}" * bool(jobs),
        }.items():
            block = re.sub(rf"(?<![^\s]){key}=\S*", lambda _, key=key, value=value: f"{key}={value}", block)  # type: ignore[misc]
        block = re.sub(r"Gres=gpu:a40:8", f"Gres={node.gres}", block)
        if {"REBOOT_REQUESTED", "REBOOT_ISSUED"} & {*flags}:
            block = re.sub(r"(   State=.*\n)", r"\1   NextState=RESUME\n", block)
        if node.reason:
            why = f"   Reason={node.reason} [{node.by}@{_time(int(self._now()))}]\n"
            block = f"{block.removesuffix(chr(10))}{why}\n"
        return block

    def _update_node(self, name: str, values: Mapping[str, str]) -> Answer:
        if name not in self.nodes:
            return self._recorded["scontrol update nodename=nowhere state=drain reason=x"]
        node, state = self.nodes[name], values["state"]
        if state in ("drain", "down") and not values.get("reason"):
            return self._recorded["scontrol update nodename=gpu-1 state=drain"]
        if state in ("drain", "down"):
            node.flags = [*dict.fromkeys((*node.flags, state.upper()))]
            node.flags = [flag for flag in node.flags if flag not in ("MAINTENANCE", "RESERVED")]
            node.reason, node.by = values["reason"], "root"
        elif state == "undrain":
            node.unheard = node.unheard or "DRAIN" in node.flags
            node.flags, node.reason = [flag for flag in node.flags if flag != "DRAIN"], ""
        else:
            raise AssertionError(f"the fake slurmctld does not know state={state}")
        return _FINE

    def _reboot(self, name: str, reason: str) -> Answer:
        if name not in self.nodes:
            return self._recorded["scontrol reboot ASAP nextstate=resume reason='gpupool: maintain: reboot' nowhere"]
        node = self.nodes[name]
        node.flags, node.reason, node.by = [*node.flags, "REBOOT_REQUESTED"], reason, "root"
        return _FINE

    # Reservations and partitions

    def _reservations(self) -> Answer:
        if not self.reservations:
            return self._recorded["env TZ=UTC scontrol -o show reservation"]
        line = next(answer.out for answer in self._answers if answer.out.startswith("ReservationName="))
        out = ""
        for name, (nodes, start) in self.reservations.items():
            own = line.replace("gpupool_maintain", name).replace("Nodes=gpu-1 ", f"Nodes={NodeSet.fromlist(nodes)} ")
            own = re.sub(r"NodeCnt=\d+ CoreCnt=\d+", f"NodeCnt={len(nodes)} CoreCnt={64 * len(nodes)}", own)
            own = re.sub(r"TRES=cpu=\d+", f"TRES=cpu={64 * len(nodes)}", own)
            out += re.sub(r"StartTime=\S+", f"StartTime={_time(start)}", own)
        return Answer(out, "", 0)

    def _create_reservation(self, name: str, values: Mapping[str, str]) -> Answer:
        assert {**values, "nodes": ""} == _RESERVATION, values
        nodes = list(NodeSet(values["nodes"]))
        if name in self.reservations:
            return Answer("", self._of(_RESERVE, "gpu-1", 1).err, 1)
        if unknown := [node for node in nodes if node not in self.nodes]:
            return self._of(_RESERVE.replace("gpupool_maintain", "gpupool_other"), "nowhere" if unknown else "")
        self.reservations[name] = (nodes, int(self._now()))
        return self._like(f"{_RESERVE} nodes=gpu-1", gpupool_maintain=name)

    def _of(self, command: str, nodes: str, place: int = 0) -> Answer:
        """Return the recorded answer to the first or the second call of a command."""
        return [answer for text, answer in self._texts if text == f"{command} nodes={nodes}"][place]

    def _update_reservation(self, name: str, values: Mapping[str, str]) -> Answer:
        if name not in self.reservations:
            return self._recorded["scontrol update reservationname=nosuch nodes=gpu-1"]
        self.reservations[name] = (list(NodeSet(values["nodes"])), self.reservations[name][1])
        return self._recorded["scontrol update reservationname=gpupool_maintain nodes=gpu-[1-2]"]

    def _delete_reservation(self, name: str, values: Mapping[str, str]) -> Answer:
        if name not in self.reservations:
            return self._like("scontrol delete reservationname=nosuch", nosuch=name)
        del self.reservations[name]
        self.tick()
        return _FINE

    def _create_partition(self, name: str, values: Mapping[str, str]) -> Answer:
        assert {**values, "nodes": ""} == _PARTITION, values
        if name in self.partitions:
            return self._of(_MAKE, "gpu-1 rootonly=yes hidden=yes maxtime=10 state=up", 1)
        self.partitions[name] = list(NodeSet(values["nodes"]))
        return _FINE

    def _update_partition(self, name: str, values: Mapping[str, str]) -> Answer:
        if name not in self.partitions:
            return self._recorded["scontrol update partitionname=nosuch nodes=gpu-1"]
        self.partitions[name] = list(NodeSet(values["nodes"]))
        return _FINE

    def _delete_partition(self, name: str, values: Mapping[str, str]) -> Answer:
        if self.partitions.pop(name, None) is None:
            return Answer("", f"delete_partition partitionname={name}: Invalid partition name specified\n", 1)
        return _FINE

    # Test jobs

    def _srun(self, command: list[str]) -> Answer:
        """Run a test job if slurmctld would let it begin; the node has answered by then."""
        self.tick()
        asked = {key: value for key, _, value in (word.partition("=") for word in command if word.startswith("--"))}
        node = self.nodes[asked["--nodelist"]]
        gpus = re.search(r":(\d+)$", asked.get("--gres", ":0"))
        free = node.name in self.partitions[asked["--partition"]] and not {"DRAIN", "DOWN"} & {*node.flags}
        if reservation := asked.get("--reservation"):
            free = free and node.name in self.reservations[reservation][0]
        has = re.search(r":(\d+)\b", node.gres)
        if not free or int(gpus[1] if gpus else 0) > int(has[1] if has else 0):
            return next(answer for answer in self._answers if "Requested node configuration" in answer.err)
        if node.test:
            return Answer(f"{node.test}\n", f"srun: error: {node.name}: task 0: Exited with exit code 1\n", 1)
        return _FINE


_RESERVE = (
    "scontrol create reservationname=gpupool_maintain starttime=now duration=infinite users=root "
    "flags=maint,ignore_jobs"
)
_RESERVATION = {
    "starttime": "now", "duration": "infinite", "users": "root", "flags": "maint,ignore_jobs", "nodes": "",
}  # fmt: skip
_MAKE = "scontrol create partitionname=gpupool_maintain"
_PARTITION = {"nodes": "", "rootonly": "yes", "hidden": "yes", "maxtime": "10", "state": "up"}


def _computing(cluster: Cluster) -> list[Node]:
    return list(cluster.having("compute"))


def _fake(node: Node, number: int, version: str) -> FakeNode:
    gres = ",".join(f"gpu:{gpu}:{count}" for gpu, count in node.gpus.items())
    return FakeNode(node.slurm_name, number, node.cpus, node.memory or 0, gres, version)


def _row(job: FakeJob) -> str:
    return "|".join((job.id, job.user, job.account, str(NodeSet.fromlist(job.nodes)), job.ends))


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat(timespec="seconds")
