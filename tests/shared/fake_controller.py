"""A fake connection to the nodes of a cluster: a model answers, and each command is recorded in order.

Scripts that ask slurmctld run in a real shell, with the model behind `scontrol`, `squeue`, `scancel` and `sleep`.
"""

import json
import os
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import stand_ins
from fake_slurm import FakeSlurm
from recorded import Answer

from gpupool.compile.system.driver import CHECK
from gpupool.remote import nodes as remote
from gpupool.remote.controller import Controller, NoAnswerError
from gpupool.remote.nodes import SECONDS
from gpupool.shell import shell_file
from gpupool.target import Target

_IN_SHELL = ("drain", "reserve")
_SCRIPTS = {
    shell_file(package, f"{name}.sh"): name
    for package, name in [
        *(("gpupool.upkeep", name) for name in ("drain", "reserve", "reboot", "announce", "packages")),
        ("gpupool.upgrade", "older_jobs"),
        ("gpupool.node", "look"),
        ("gpupool.joining", "network"),
    ]
}
#: Sends the words to the model through descriptor 3, each with a null byte after it; reads the lines of the answer from
#: 4.
_PROGRAM = r"""
printf '%s\0' "${0##*/}" "$@" '' >&3
read -r code out err <&4
while [ "$out" -gt 0 ]; do IFS= read -r line <&4; printf '%s\n' "$line"; out=$((out - 1)); done
while [ "$err" -gt 0 ]; do IFS= read -r line <&4; printf '%s\n' "$line" >&2; err=$((err - 1)); done
exit "$code"
"""


class Clock:
    """Replaces the module `time`: sleeping takes no time, and events that are due meanwhile happen."""

    def __init__(self, at: float = 1_795_000_000.0) -> None:
        self.now = at
        self._due: list[tuple[float, Callable[[], None]]] = []
        self._sleeps = 0
        self.slept: Callable[[], None] = lambda: None
        self.localtime, self.strftime = time.gmtime, time.strftime

    def time(self) -> float:
        """Return seconds since 1970."""
        return self.now

    def monotonic(self) -> float:
        """Return seconds since an arbitrary moment."""
        return self.now - 1_000_000_000

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Schedule an event in some seconds."""
        self._due.append((self.now + seconds, act))

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self._sleeps += 1
        assert self._sleeps < 5000, "waits forever"
        end = self.now + seconds
        while due := sorted((event for event in self._due if event[0] <= end), key=lambda due: due[0]):
            self._due.remove(due[0])
            self.now = max(self.now, due[0][0])
            due[0][1]()
        self.now = end
        self.slept()


class FakeController(Controller):
    """The connection to a cluster whose slurmctld is a FakeSlurm.

    `asked` has each command with its node. `silent` are nodes without an answer, `needs` the reasons why nodes need a
    reboot, `problems` the findings of the look at a node, `files` the files of nodes by (node, path), `refused` the
    error of a command by a regular expression that matches it.
    """

    def __init__(self, target: Target, folder: Path, release: str = "24.11") -> None:
        (folder / "ssh").mkdir(exist_ok=True)
        super().__init__(target, folder / "ssh")
        self.clock = Clock()
        self.slurm = FakeSlurm(target.cluster, release, self.clock.time, self.clock.after)
        self.clock.slept = self.slurm.tick
        self.asked: list[tuple[str, str]] = []
        self.silent: set[str] = set()
        self.needs: dict[str, str] = {}
        self.problems: dict[str, list[str]] = {}
        self.ahead: dict[str, float] = {}
        self.links: dict[str, str] = {}
        self.files: dict[tuple[str, str], str] = {}
        self.packages: dict[str, str] = {}
        self.newer: dict[str, str] = {}
        self.replaced: dict[str, str] = {}
        self.refused: dict[str, str] = {}
        self._programs = folder / "programs"
        stand_ins.put(dict.fromkeys(("scontrol", "squeue", "scancel", "sleep"), _PROGRAM), self._programs)

    def lead_to(self, target: Target) -> None:
        """Connect to the nodes of another target."""
        self.target = target
        self._addresses = {node.name: node.address for node in target.nodes}

    def did(self, pattern: str) -> list[str]:
        """Return the commands that match, in order."""
        return [text for _, text in self.asked if re.search(pattern, text)]

    def acts(self) -> list[str]:
        """Return the commands that change something in Slurm, in order."""
        return self.did(r"^(scontrol (update|create|delete|reboot)|srun|scancel|systemctl|gpupool-backup)")

    def pause(self) -> None:
        """Let time pass until the next look."""
        self.clock.sleep(5)

    def run(
        self, node: str, script: str | Sequence[str], *, stdin: str | bytes = b"", seconds: float = SECONDS
    ) -> remote.Answer:
        """Return the answer of a node."""
        argv = ["sh", "-c", script] if isinstance(script, str) else list(script)
        name = _SCRIPTS.get(argv[2], "") if argv[:2] == ["sh", "-c"] else ""
        command = [name, *argv[4:]] if name else argv
        self.asked.append((node, shlex.join(command)))
        if node in self.silent:
            self.clock.sleep(seconds)
            raise NoAnswerError(f"{node}: no answer in {seconds:.0f} s")
        for pattern, why in self.refused.items():
            if re.search(pattern, shlex.join(command)):
                return remote.Answer(1, b"", why.encode())
        text = stdin if isinstance(stdin, str) else stdin.decode()
        answer = self._in_shell(node, argv) if name in _IN_SHELL else self._answer(node, command, text)
        return remote.Answer(answer.code, answer.out.encode(), answer.err.encode())

    def _answer(self, node: str, command: list[str], stdin: str) -> Answer:
        name = self.target.cluster.nodes[node].slurm_name
        match command:
            case ["true"]:
                return Answer("", "", 0)
            case ["reboot"]:
                return Answer(f"{self.slurm.nodes[name].booted} {self.needs.get(node, '')}\n", "", 0)
            case ["packages", "list" | "raise" as act, "security" | "all"]:
                rows = self.newer.get(node, "")
                if act == "raise":
                    self.newer.pop(node, None)
                return Answer(rows, "", 0)
            case ["older_jobs", _]:
                return Answer(self.replaced.get(node, ""), "", 0)
            case ["look", *_]:
                faults = ({"kind": "gpus", "item": CHECK, "fault": fault} for fault in self.problems.get(node, ()))
                rows = [{"clock": self.clock.time() + self.ahead.get(node, 0.0)}, *faults]
                return Answer("".join(f"{json.dumps(row)}\n" for row in rows), "", 0)
            case ["network", *addresses]:
                return Answer(
                    "".join(f"{address} {self.links.get(node, 'eno1 10000')}\n" for address in addresses), "", 0
                )
            case ["announce", path]:
                self.files[node, path] = stdin
                return Answer("", "", 0)
            case ["sh", "-c", text] if text.startswith("systemctl "):
                return Answer("", "", 0)
            case ["systemctl", "reboot"]:
                self.clock.after(90, lambda: self.slurm.boot(name))
                return Answer("", "", 0)
            case ["cat", path]:
                text = self.files.get((node, path))
                return (
                    Answer("", f"cat: {path}: No such file or directory\n", 1) if text is None else Answer(text, "", 0)
                )
            case ["dpkg-query", "-W", "-f=${Version}", package]:
                version = self.packages.get(f"{node} {package}", "")
                return Answer(
                    version, "" if version else f"dpkg-query: no packages found matching {package}\n", not version
                )
            case [program, "make"] if program.endswith("gpupool-backup"):
                return Answer("", "", 0)
            case ["scontrol" | "squeue" | "scancel" | "srun" | "env", *_]:
                return self.slurm.run(command)
        raise AssertionError(f"the fake does not know: {shlex.join(command)}")

    def _in_shell(self, node: str, argv: list[str]) -> Answer:
        """Run a script that asks slurmctld, in a real shell."""
        ask, asks = os.pipe()
        answers, answer = os.pipe()
        wanted = (asks, answers)
        # sh only knows descriptors of one digit
        shell = ["bash", "-c", 'exec 3>&"$1" 4<&"$2"; shift 2; exec "$@"', "bash", str(asks), str(answers)]
        environment = {"PATH": f"{self._programs}:{os.environ['PATH']}"}
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            [*shell, *argv], pass_fds=wanted, env=environment, stdout=pipe, stderr=pipe, text=True
        )
        for end in wanted:
            os.close(end)
        with os.fdopen(ask, "rb") as questions, os.fdopen(answer, "w") as replies:
            for command in _questions(questions):
                self.asked.append((node, shlex.join(command)))
                reply = self._slept(command) if command[0] == "sleep" else self.slurm.run(command)
                replies.write(
                    f"{reply.code} {reply.out.count(chr(10))} {reply.err.count(chr(10))}\n{reply.out}{reply.err}"
                )
                replies.flush()
        out, err = process.communicate()
        return Answer(out, err, process.returncode)

    def _slept(self, command: list[str]) -> Answer:
        self.clock.sleep(float(command[1]))
        return Answer("", "", 0)


def _questions(questions: Any) -> Iterator[list[str]]:
    """Yield commands until no program is left to ask; an empty word ends each command."""
    command: list[str] = []
    word = b""
    while byte := questions.read(1):
        if byte != b"\0":
            word += byte
        elif word:
            command.append(word.decode())
            word = b""
        else:
            yield command
            command = []
