"""Nodes without any state: every fact is empty, every command succeeds, and commands are recorded."""

import base64
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pyinfra.api import StringCommand
from pyinfra.connectors.fake import FakeConnector
from pyinfra.connectors.util import CommandOutput, OutputLine

from gpupool.cluster.load import load
from gpupool.cluster.model import Cluster
from gpupool.compile.system.zfs import pools_for
from gpupool.engine.ahead import READ
from gpupool.facts.script import END, ask
from gpupool.target import Target
from gpupool.testbed.overlay import stand_in

INVENTORIES = Path(__file__).parents[2] / "inventory"
_KIND = b"\0\0\0\x0bssh-ed25519"  # the prefix of such a key


@dataclass
class Received:
    """The commands of a node, their texts on standard input, and whether it has a munge key by now."""

    commands: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    has_key: bool = False


#: By node; a test clears it first.
RECEIVED: dict[str, Received] = {}
#: Words by node: a command that contains them fails there.
BROKEN: dict[str, str] = {}
#: Lines by node: the jobs of its slurmctld.
QUEUE: dict[str, list[str]] = {}
#: Fields of os-release by node; by default the values in the inventory.
SYSTEM: dict[str, list[str]] = {}
#: Lines by node: its answer when it is asked for its host keys; by default one key.
KEYS: dict[str, list[str]] = {}
#: Lines by node: the host keys that it knows of other nodes.
KNOWN: dict[str, list[str]] = {}


def host_key(seed: str) -> str:
    """Return a public key in the format of a node's files; other seeds give other keys."""
    return f"ssh-ed25519 {base64.b64encode(_KIND + seed.encode()).decode()}"


def testbed(inventory: str) -> Target:
    """Return an inventory's testbed: GPUs and storage are fake."""
    return Target(stand_in(load(INVENTORIES / inventory), cgroup="v1"), None, {})


def machines() -> Target:
    """Return the example's own nodes: NFS, and real GPUs."""
    return Target(load(INVENTORIES / "example"), None, {})


class EmptyNode(FakeConnector):
    """Replaces the connector over SSH."""

    @staticmethod
    def make_names_data(name: str | None = None) -> Iterator[tuple[str, dict[str, Any], list[str]]]:
        yield name or "", {}, []

    def run_shell_command(
        self, command: str | StringCommand, print_output: bool = False, print_input: bool = False, **arguments: Any
    ) -> tuple[bool, CommandOutput]:
        raw = command if isinstance(command, str) else command.get_raw_value()
        if raw.endswith(shlex.quote(READ)):
            return True, CommandOutput(list(self._each(str(arguments["_stdin"]))))
        return self._one(raw, arguments)

    def _one(self, raw: str, arguments: dict[str, Any]) -> tuple[bool, CommandOutput]:
        received = RECEIVED.setdefault(self.host.name, Received())
        looks = f"echo {END}" in raw
        if not looks:
            received.commands.append(raw)
            received.texts.append(str(arguments.get("_stdin", "")))
        if (words := BROKEN.get(self.host.name)) and words in raw:
            return False, CommandOutput([OutputLine("stderr", "it is broken")])
        if raw.startswith("printf ") and raw.endswith(" >&2; exit 1"):  # a refusal of an operation
            return False, CommandOutput([OutputLine("stderr", line) for line in shlex.split(raw)[2:-3]])
        queue = QUEUE.get(self.host.name, []) if "squeue" in raw else []
        own = [*self._pools(raw), *self._host_keys(raw), *self._system(raw)]
        seen = [*queue, *_answer(raw, received), *own, END] if looks else []
        lines = seen or _obey(raw, received)
        return True, CommandOutput([OutputLine("stdout", line) for line in lines])

    def _each(self, script: str) -> Iterator[OutputLine]:
        """Answer many questions of one command."""
        *_, mark, _ = script.split()
        parts = re.split(rf"\necho ({mark} \d+)\n", script)
        for part, marked in zip(parts[::2], parts[1::2], strict=False):
            yield from self._one(_alone(part), {})[1]
            yield OutputLine("stdout", marked)

    def _host_keys(self, raw: str) -> list[str]:
        if "ssh_host_" in raw:
            return KEYS.get(self.host.name, [host_key(self.host.name)])
        return KNOWN.get(self.host.name, []) if raw.endswith(" /etc/ssh/ssh_known_hosts") else []

    def _system(self, raw: str) -> Sequence[str]:
        if "/etc/os-release" not in raw:
            return ()
        cluster: Cluster = self.host.data.cluster
        return SYSTEM.get(self.host.name, cluster.nodes[self.host.name].system.os_release)

    def _pools(self, raw: str) -> Iterator[str]:
        """Yield empty disks, and the pools that the inventory only adopts."""
        if "zpool status" in raw:
            _, _, *values = _split(raw)[6:]
            cluster = self.host.data.cluster
            yield from (f"D\t{disk}\t{disk}" for disk in values)
            for pool in pools_for(cluster, cluster.nodes[self.host.name]):
                if not pool.vdevs:
                    yield f"G\t{pool.name}\thealth\tONLINE\t-"
                    yield f"S\t  pool: {pool.name}"


@cache  # nodes are asked the same questions, and a long one takes milliseconds
def _split(raw: str) -> list[str]:
    return shlex.split(raw)


@cache
def _alone(part: str) -> str:
    """Return the command of a question in a script, in its separate form."""
    lines = part.removeprefix("(set -- ").removesuffix(f"\necho {END}) </dev/null").split("\n")
    for count in range(1, len(lines) + 1):
        with suppress(ValueError):  # a value may continue on the next line
            values = shlex.split("\n".join(lines[:count]))
            return ask("\n".join(lines[count:]), *values).get_raw_value()
    raise AssertionError(part)


def _answer(raw: str, received: Received) -> list[str]:
    script, _, *values = _split(raw)[6:]
    if "/proc/sys/kernel/hostname" in script:
        return ["localhost"]
    if "stat -f" in script:
        return [f"good\t{path}\t" for path in values[::4]]
    if "mountinfo" in script:
        return [f"U\t{unit}\tActiveState=inactive UnitFileState= NeedDaemonReload=no" for unit in values]
    if "sacctmgr" in script:
        return [f"T|{name.replace('/', '|')}" for name in values[2].split()]
    if "/dev/tcp/" in script:
        return [f"up {values[3]}"]  # the controller was started by this run
    if "munge.key" in script and received.has_key:
        return [f"{'0' * 64} munge munge 400 1024"]
    return []


def _obey(raw: str, received: Received) -> list[str]:
    if "/etc/munge/munge.key" in raw:
        received.has_key = True
        return ["A" * 1024] if raw.startswith("base64") else []
    return []


_STAGED = re.compile(r"^stage (?P<path>/\S+) (?P<owner>\S+) (?P<mode>\d+) (?P<size>\d+) (?P<sha256>\S+)$", re.MULTILINE)
_RECORDED = re.compile(r"^remember (\S+) .+$", re.MULTILINE)
_UNIT = re.compile(r"^unit (?P<name>\S+) (?P<size>\d+) (?P<sha256>\S+)$", re.MULTILINE)


def recorded(node: str) -> set[str]:
    """Return the paths recorded on a node as installed by gpupool."""
    texts = RECEIVED[node].commands if node in RECEIVED else []
    return {shlex.split(path)[0] for text in texts for path in _RECORDED.findall(text)}


def staged(node: str) -> list[tuple[str, str, str, str]]:
    """Return path, owner, mode and sha256 of every file that was put on a node, in order."""
    found: list[tuple[str, str, str, str]] = []
    for text in RECEIVED[node].commands if node in RECEIVED else []:
        for match in _STAGED.finditer(text):
            found.append((match["path"], match["owner"], match["mode"], match["sha256"]))
        for match in _UNIT.finditer(text):
            (name,) = shlex.split(match["name"])
            found.append((f"/etc/systemd/system/{name}", "root:root", "0644", match["sha256"]))
    return found


def text_put(node: str, path: str) -> str:
    """Return the text of a file that was put on a node alone."""
    (text,) = (
        text
        for command, text in zip(RECEIVED[node].commands, RECEIVED[node].texts, strict=True)
        if [found["path"] for found in _STAGED.finditer(command)] == [path]
    )
    return text
