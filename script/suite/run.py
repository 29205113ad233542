"""Layers and preparations as processes: begun while there are cores for them, their output told in a fixed order."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from suite import leftovers
from suite.idle import Idle
from suite.layers import BEGIN, QUICK, Layer
from suite.prepare import PREPARATIONS

# Cores more than there are: layers wait half of their time, which idle cores show only where nobody else is at work.
SPARE = 1.3
ENOUGH = 0.8  # cores that are idle: reason to begin one more layer, whatever it will keep busy
PREPARE_CORES = 0.7
PREPARE_AT_ONCE = 2
LOOK = 0.1  # seconds between two looks at what runs


def say(message: str = "") -> None:
    """Write a line for whoever watches."""
    print(message, file=sys.stderr, flush=True)


@dataclass
class Work:
    """Commands that run one after the other, and what has come of them. Seconds count from the start of the run."""

    name: str
    commands: Sequence[Sequence[str]]
    cores: float
    log: Path | None
    env: Mapping[str, str]
    process: subprocess.Popen[bytes] | None = None
    began: float | None = None
    ended: float | None = None
    code: int = 0
    _left: list[Sequence[str]] = field(default_factory=list)

    @property
    def runs(self) -> bool:
        """Whether it has begun and not ended."""
        return self.began is not None and self.ended is None

    @property
    def seconds(self) -> float:
        """What it took."""
        return (self.ended or 0) - (self.began or 0)

    def begin(self, now: float) -> None:
        """Start the first command."""
        self.began = now
        self._left = list(self.commands)
        if self.log:
            self.log.unlink(missing_ok=True)
        self._next()

    def look(self, now: float) -> None:
        """Start the next command where one has ended well."""
        if self.process is None or (code := self.process.poll()) is None:
            return
        if code == 0 and self._left:
            self._next()
            return
        self.code, self.ended, self.process = code, now, None

    def stop(self, number: signal.Signals) -> None:
        """Send a signal to all that it has started."""
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, number)

    def kill(self) -> None:
        """End it and all processes of its group, whether it has ended itself or not."""
        if self.process:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

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
    """Return a layer as work; its tests write what they took to `times`, and beside it what fails, as it fails.

    Its testbeds have a prefix of their own: two layers may have a cluster of one name, and run beside each other.
    So has pytest a folder of its own in `temporary`: as it begins, it closes that to all other users.
    """
    failures = times.with_suffix(".failed")
    for file in (times, failures):
        file.unlink(missing_ok=True)
    env = {**os.environ, "GPUPOOL_TEST_TIMES": str(times), "GPUPOOL_TEST_FAILURES": str(failures)}
    own = temporary / layer.name
    own.mkdir(exist_ok=True)
    env["PYTEST_DEBUG_TEMPROOT"] = str(own)
    env.pop("PYTHONPATH", None)
    if layer.docker:
        env["GPUPOOL_TESTBED_PREFIX"] = f"{leftovers.prefix()}-{layer.name}"
    return Work(layer.name, layer.commands, layer.cores, log, env)


def preparations(layers: Sequence[Layer], logs: Path) -> dict[str, Work]:
    """Return what these layers need, as work, in the order in which it begins."""
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
    """A run of layers. A preparation that fails leaves its complaint to the layers that need it, which try again."""

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
        """How long it has been running."""
        return time.monotonic() - self.start

    def until_done(self) -> None:
        """Run everything, and tell each layer's output when those before it are through."""
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
        """Begin what there is room for; what takes long keeps its cores free while it waits for what it needs.

        There is room, too, where cores were idle: most layers wait for Slurm at times, and some of them for minutes.
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
        """End what runs, with all that it has started: tests tidy up at Ctrl-C. A second one ends it at once."""
        running = [work for work in everything if work.runs]
        try:
            say(f"stopping: {', '.join(work.name for work in running) or 'nothing runs'}")
            for work in running:
                work.stop(signal.SIGINT)
            for work in running:
                if work.process:
                    work.process.wait()
        except KeyboardInterrupt:
            say("ending them at once")
        for work in running:
            work.kill()
