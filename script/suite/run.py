"""Layers and preparations as processes: started while cores are free, with their output in a fixed order.

Neither make nor pytest-xdist does this in the same time. `make -j` counts jobs, not cores: a layer that waits for
Slurm would hold the place of a layer that computes, and no cores would be kept for a layer whose machines are still
built. xdist has one pool of equal processes, but layers differ in their number of workers, in their environment, and
in what a process may import (the engine replaces threads). Either could replace this module and `idle` only:
selection, left-overs, preparations and the report would stay.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from suite import leftovers, second
from suite.idle import Idle
from suite.layers import BEGIN, QUICK, Layer
from suite.prepare import PREPARATIONS

# Cores to add, because layers wait half of their time; idle cores show that only if the machine does nothing else.
SPARE = 1.3
ENOUGH = 0.8  # idle cores that allow one more layer, whatever its load
PREPARE_CORES = 0.7
PREPARE_AT_ONCE = 2
LOOK = 0.1  # seconds between two checks of the processes


def say(message: str = "") -> None:
    """Write a line for the person who watches."""
    print(message, file=sys.stderr, flush=True)


@dataclass
class Work:
    """Commands that run one after the other, and their results. Seconds count from the start of the run.

    After a failed command, `again` is asked once for a command that takes its place: see `suite.second`.
    """

    name: str
    commands: Sequence[Sequence[str]]
    cores: float
    log: Path | None
    env: Mapping[str, str]
    process: subprocess.Popen[bytes] | None = None
    began: float | None = None
    ended: float | None = None
    code: int = 0
    again: Callable[[int], Sequence[str] | None] | None = None
    _left: list[Sequence[str]] = field(default_factory=list)

    @property
    def runs(self) -> bool:
        """Return whether it has begun and not ended."""
        return self.began is not None and self.ended is None

    @property
    def seconds(self) -> float:
        """Return its duration."""
        return (self.ended or 0) - (self.began or 0)

    def begin(self, now: float) -> None:
        """Start the first command."""
        self.began = now
        self._left = list(self.commands)
        if self.log:
            self.log.unlink(missing_ok=True)
        self._next()

    def look(self, now: float) -> None:
        """Start the next command after a success, or the second try of a failed one."""
        if self.process is None or (code := self.process.poll()) is None:
            return
        if code and self.again:
            again, self.again = self.again(code), None
            if again:
                self._left.insert(0, again)
                code = 0
        if code == 0 and self._left:
            self._next()
            return
        self.code, self.ended, self.process = code, now, None

    def stop(self, number: signal.Signals) -> None:
        """Send a signal to all processes that it has started."""
        if self.process:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)

    def wait(self) -> None:
        """Wait until its command has ended.

        A Ctrl-C during `Popen.poll` can leave the lock of that Popen held, and `Popen.wait` would then wait forever.
        """
        if self.process:
            with suppress(ChildProcessError):
                os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)

    def kill(self) -> None:
        """Kill all processes of its group, whether it has ended or not."""
        self.stop(signal.SIGKILL)
        self.wait()

    def _next(self) -> None:
        command = self._left.pop(0)
        out = self.log.open("ab") if self.log else None
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT if out else None,
                env=dict(self.env),
                start_new_session=True,
            )
        finally:
            if out:
                out.close()


def layer_work(layer: Layer, log: Path | None, times: Path, temporary: Path) -> Work:
    """Return a layer as work; its tests write their times to `times`, and failures beside it as they happen.

    Its testbeds have a separate prefix: two layers may run clusters with the same name at the same time. pytest also
    has a separate folder in `temporary`: at its start it closes the folder to all other users.
    """
    failures = times.with_suffix(".failed")
    for file in (times, failures, second.first_failures(failures)):
        file.unlink(missing_ok=True)
    env = {**os.environ, "GPUPOOL_TEST_TIMES": str(times), "GPUPOOL_TEST_FAILURES": str(failures)}
    own = temporary / layer.name
    own.mkdir(exist_ok=True)
    env["PYTEST_DEBUG_TEMPROOT"] = str(own)
    env.pop("PYTHONPATH", None)
    if layer.docker:
        env["GPUPOOL_TESTBED_PREFIX"] = f"{leftovers.prefix()}-{layer.name}"
    again = partial(second.command, failures) if layer.docker else None
    return Work(layer.name, layer.commands, layer.cores, log, env, again=again)


def preparations(layers: Sequence[Layer], logs: Path) -> dict[str, Work]:
    """Return the preparations of these layers as work, in the order in which they begin."""
    needed = {name for layer in layers for name in layer.needs}
    names = [name for name in PREPARATIONS if name in needed]
    return {
        name: Work(
            name, ((sys.executable, "-m", "suite.prepare", name),), PREPARE_CORES, logs / f"prepare-{name}.log",
            os.environ,
        )
        for name in names
    }  # fmt: skip


class Run:
    """A run of layers. A failed preparation leaves its error to the layers that need it, which try again."""

    def __init__(
        self,
        layers: Sequence[Layer],
        works: Mapping[str, Work],
        prepare: Mapping[str, Work],
        idle: Idle | None = None,
    ) -> None:
        self.layers = {layer.name: layer for layer in layers}
        self.works = works
        self.prepare = prepare
        self.start = time.monotonic()
        self.cores = float(os.cpu_count() or 1)
        self._idle = idle or Idle(self.cores)
        self._told: list[str] = []

    @property
    def seconds(self) -> float:
        """Return how long it has been running."""
        return time.monotonic() - self.start

    def until_done(self) -> None:
        """Run everything, and print each layer's output after the layers before it have ended."""
        everything = [*self.prepare.values(), *self.works.values()]
        try:
            while not all(work.ended is not None for work in everything):
                self._begin()
                time.sleep(LOOK)
                for work in everything:
                    if work.runs:
                        work.look(self.seconds)
                        if work.ended is not None:
                            self._tell_end(work)
                self._tell_output()
        except BaseException:
            self._stop(everything)
            raise

    def _begin(self) -> None:
        """Start the layers that there is room for; a long layer reserves its cores while it waits for preparations.

        Idle cores count as room, too: most layers wait for Slurm at times, and some of them for minutes.
        """
        self._begin_preparations()
        kept, idle = 0.0, self._idle.cores()
        for name in sorted(self.works, key=BEGIN.index):
            work, reserved = self.works[name], 0.0 if name in QUICK else kept
            if work.began is not None:
                continue
            if not self._is_ready(self.layers[name]):
                kept += work.cores
            elif self._room(work.cores, reserved) or idle >= reserved + ENOUGH:
                if work.log:
                    say(f"== {name} begins after {self.seconds:.0f} s")
                work.begin(self.seconds)
                self._idle.forget()
                idle = 0

    def _begin_preparations(self) -> None:
        for number, work in enumerate(self.prepare.values()):
            before = list(self.prepare.values())[:number]
            if work.began is None:
                # docker itself first, and alone
                if before and before[0].ended is None:
                    return
                if sum(other.runs for other in before) >= PREPARE_AT_ONCE:
                    return
                work.begin(self.seconds)

    def _is_ready(self, layer: Layer) -> bool:
        return all(self.prepare[name].ended is not None for name in layer.needs)

    def _room(self, cores: float, reserved: float) -> bool:
        taken = reserved + sum(work.cores for work in self.works.values() if work.runs)
        return not taken or taken + cores <= self.cores + SPARE

    def _tell_end(self, work: Work) -> None:
        if work.name in self.works:
            if work.log:
                say(f"== {work.name} {'ended' if work.code == 0 else 'FAILED'} after {work.seconds:.0f} s")
        elif work.code:
            lines = work.log.read_text(errors="replace").strip().splitlines() if work.log else []
            say(f"   {work.name} could not be prepared: {lines[-1] if lines else f'exit {work.code}'}")
        elif work.seconds > 2:
            say(f"   {work.name} is ready, made in {work.seconds:.0f} s")

    def _tell_output(self) -> None:
        for name, work in self.works.items():
            if name in self._told or work.log is None:
                continue
            if work.ended is None:
                return
            self._told.append(name)
            say(f"\n== {name}")
            sys.stdout.flush()
            sys.stdout.buffer.write(work.log.read_bytes())
            sys.stdout.flush()
            say(f"== {name}: {'ok' if work.code == 0 else 'FAILED'} after {work.seconds:.0f} s")

    def _stop(self, everything: Sequence[Work]) -> None:
        """Stop the run, with all its processes: tests clean up at Ctrl-C. A second Ctrl-C kills them at once."""
        running = [work for work in everything if work.runs]
        try:
            say(f"stopping: {', '.join(work.name for work in running) or 'nothing runs'}")
            for work in running:
                work.stop(signal.SIGINT)
            for work in running:
                work.wait()
        except KeyboardInterrupt:
            say("ending them at once")
        for work in running:
            work.kill()
