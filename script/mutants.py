"""Run the fast tests on code in which one place is changed, many times, and report the changes that no test notices."""

import argparse
import json
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from mutations import KINDS, Mutation, mutations

ROOT = Path(__file__).parents[1]
#: The folders of fast tests; tests with Docker are not run.
FAST = ("tests/unit", "tests/operations", "tests/facts", "tests/roles")
_NO_TESTS = 5  # pytest's exit code


@dataclass(frozen=True)
class Mutant:
    """A file below the root, and one change of it."""

    file: str
    mutation: Mutation


@dataclass(frozen=True)
class Verdict:
    """The result of a mutant: `noticed`, `late` (the tests took too long, which counts as noticed) or `survived`."""

    file: str
    line: int
    kind: str
    before: str
    after: str
    result: str
    seconds: float

    @property
    def survived(self) -> bool:
        """Return whether no test noticed it."""
        return self.result == "survived"


def drawn(root: Path, folders: Iterable[str], seed: int, count: int) -> list[Mutant]:
    """Return mutants of the modules below folders: drawn by a seed, in turn from the kinds, at most one a line."""
    paths = sorted(
        {
            file
            for folder in folders
            for file in ((root / folder).rglob("*.py") if (root / folder).is_dir() else [root / folder])
        }
    )
    pool: dict[str, list[Mutant]] = {kind: [] for kind in KINDS}
    for path in paths:
        for mutation in mutations(path.read_text(encoding="utf-8")):
            pool[mutation.kind].append(Mutant(str(path.relative_to(root)), mutation))
    chance = random.Random(seed)
    for mutants in pool.values():
        chance.shuffle(mutants)
    chosen: list[Mutant] = []
    lines: set[tuple[str, int]] = set()
    while len(chosen) < count and any(pool.values()):
        for kind in KINDS:
            while pool[kind] and len(chosen) < count:
                mutant = pool[kind].pop()
                if (place := (mutant.file, mutant.mutation.line)) not in lines:
                    lines.add(place)
                    chosen.append(mutant)
                    break
    return chosen


def tests_of(root: Path, file: str) -> list[str]:
    """Return the tests that may notice a change of a module: tests of its folder, and tests that name the module.

    The mirror of gpupool/a/b.py is tests/unit/a; a module is named by `gpupool.a.b`, or by `from gpupool.a import b`.
    """
    path = Path(file)
    parts = path.with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    module, parent, name = ".".join(parts), ".".join(parts[:-1]), parts[-1]
    named = re.compile(rf"\b{re.escape(module)}\b|from {re.escape(parent)} import [^\n]*\b{re.escape(name)}\b")
    mirror = root / "tests" / "unit" / Path(*parts[1:-1])
    own = sorted(mirror.glob("test_*.py")) if len(parts) > 2 else []
    others = [
        test
        for folder in FAST
        for test in sorted((root / folder).rglob("test_*.py"))
        if test not in own and named.search(test.read_text(encoding="utf-8"))
    ]
    return [str(test.relative_to(root)) for test in (*own, *others)]


def copied(root: Path, into: Path) -> None:
    """Copy the files that git has or would add; links stay links."""
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=True,
    ).stdout
    for name in listed.decode().split("\0"):
        if name and (root / name).exists():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, into / name, follow_symlinks=False)


class Copy:
    """A copy of the tree in which one mutant at a time is tested."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tick = int(time.time()) - 1_000_000

    def verdict(self, mutant: Mutant, seconds: float) -> Verdict:
        """Run the tests of a mutant, for at most `seconds`."""
        path = self.folder / mutant.file
        before = path.read_text(encoding="utf-8")
        began = time.monotonic()
        try:
            self._write(path, mutant.mutation.applied(before))
            result = self._tried(tests_of(self.folder, mutant.file), seconds)
        finally:
            self._write(path, before)
        mutation = mutant.mutation
        return Verdict(
            mutant.file, mutation.line, mutation.kind, mutation.before, mutation.after, result, time.monotonic() - began
        )

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8")
        # Python recognises a changed source by its size and its time in seconds
        self._tick += 1
        os.utime(path, (self._tick, self._tick))

    def _tried(self, tests: Collection[str], seconds: float) -> str:
        if not tests:
            return "survived"
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            return "late"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return "survived" if code in (0, _NO_TESTS) else "noticed"


def judged(mutants: list[Mutant], jobs: int, seconds: float) -> Iterator[Verdict]:
    """Yield the result of each mutant as it ends; each job has a copy of the tree, removed at the end."""
    with tempfile.TemporaryDirectory(prefix="gpupool-mutants-") as folder, ThreadPoolExecutor(jobs) as pool:
        copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for number in range(jobs):
            copied(ROOT, Path(folder) / str(number))
            copies.put(Copy(Path(folder) / str(number)))

        def judge(mutant: Mutant) -> Verdict:
            copy = copies.get()
            try:
                return copy.verdict(mutant, seconds)
            finally:
                copies.put(copy)

        yield from pool.map(judge, mutants)


def main() -> None:
    """Draw mutants, test them and report."""
    options = argparse.ArgumentParser(prog="script/mutants", description=__doc__)
    options.add_argument("folders", nargs="+", metavar="FOLDER", help="folders or modules below gpupool")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--count", type=int, default=50, metavar="N")
    options.add_argument("--seconds", type=float, default=120, metavar="N", help="time limit of one mutant's tests")
    options.add_argument("--jobs", type=int, default=1, metavar="N", help="mutants that are tried at once")
    options.add_argument("--list", action="store_true", help="print the mutants, and try none")
    options.add_argument("--json", action="store_true", help="print the result as JSON")
    asked = options.parse_args()
    mutants = drawn(ROOT, asked.folders, asked.seed, asked.count)
    if asked.list:
        for mutant in mutants:
            mutation = mutant.mutation
            print(f"{mutant.file}:{mutation.line}: {mutation.kind}: {mutation.before!r} -> {mutation.after!r}")
        return
    verdicts = []
    for verdict in judged(mutants, asked.jobs, asked.seconds):
        verdicts.append(verdict)
        line = f"{verdict.result:8} {verdict.seconds:5.1f} s  {verdict.file}:{verdict.line}: {verdict.kind}: "
        print(f"{line}{verdict.before!r} -> {verdict.after!r}", file=sys.stderr, flush=True)
    noticed = sum(not verdict.survived for verdict in verdicts)
    if asked.json:
        found = {"seed": asked.seed, "noticed": noticed, "mutants": [asdict(verdict) for verdict in verdicts]}
        print(json.dumps(found, indent=1))
    else:
        print(f"seed {asked.seed}: {noticed} of {len(verdicts)} mutants noticed")


if __name__ == "__main__":
    main()
