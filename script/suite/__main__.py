"""`script/test`: run the named layers of tests, or all but the long ones, or with `--full` all of them."""

import argparse
import json
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from gpupool.errors import GpupoolError
from suite import changed, leftovers, report
from suite.idle import busy
from suite.layers import FULL, LAYERS, Layer
from suite.run import Run, layer_work, preparations, say

BUILD = Path("build")


def main() -> int:
    """Run the layers of the command line, and return the exit code: 0 passed, 1 failed, 2 invalid arguments."""
    asked = _asked()
    if asked.clean:
        with leftovers.only_run():
            for name in leftovers.remove_all():
                say(f"removed {name}")
        return 0
    if asked.full:
        os.environ[FULL] = "1"
    default = [layer.name for layer in LAYERS if asked.full or not layer.long]
    layers = [layer for layer in LAYERS if layer.name in (asked.layers or default)]
    if asked.changed:
        layers, message = changed.only(layers, asked.since)
        say(message)
    # Both signals raise KeyboardInterrupt, so that the run cleans up. A shell starts background commands with SIGINT
    # ignored, which child processes would inherit.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    docker, keep = any(layer.docker for layer in layers), bool(os.environ.get("GPUPOOL_TEST_KEEP"))
    try:
        with ExitStack() as held:
            if docker:
                held.enter_context(leftovers.only_run())
            if gone := leftovers.remove(testbeds=not keep) if docker else leftovers.remove_local():
                say(f"removed leftovers of an interrupted run: {', '.join(gone)}")
            if docker:
                os.environ[leftovers.MARK] = leftovers.prefix()
            try:
                return _run(layers)
            except KeyboardInterrupt:
                _tidy(docker=docker, keep=keep)
                return 130
    except KeyboardInterrupt:
        say("stopped. The next run removes what is left of this one; so does script/test --clean, images included")
        return 130


def _tidy(*, docker: bool, keep: bool) -> None:
    """Remove the leftovers of stopped layers. Another Ctrl-C ends this early: `main` handles it."""
    if docker:
        say("removing what the stopped tests have left; another Ctrl-C leaves it to the next run")
        leftovers.remove(testbeds=not keep)
    say(
        "stopped, and nothing is left"
        if not keep
        else "stopped; GPUPOOL_TEST_KEEP is set, so the testbeds of this run are kept"
    )


def _asked() -> argparse.Namespace:
    names = [layer.name for layer in LAYERS]
    parser = argparse.ArgumentParser(prog="script/test", description=__doc__)
    parser.add_argument("layers", nargs="*", metavar="LAYER", help=", ".join(names))
    parser.add_argument("--changed", action="store_true", help="only the tests that changes since main can affect")
    parser.add_argument("--since", default="main", metavar="COMMIT", help="with --changed: since this commit")
    parser.add_argument("--full", action="store_true", help="also the long forms of tests, of which others are samples")
    parser.add_argument("--clean", action="store_true", help="remove all that tests ever made, and run none")
    asked = parser.parse_args()
    if unknown := [name for name in asked.layers if name not in names]:
        parser.error(f"there is no layer {', '.join(unknown)}; the layers are {', '.join(names)}")
    return asked


def _run(layers: Sequence[Layer]) -> int:
    logs, times = BUILD / "test-logs", BUILD / "test-times"
    for folder in (logs, times):
        folder.mkdir(parents=True, exist_ok=True)
    temporary = leftovers.new_temporary()
    tempfile.tempdir = os.environ["TMPDIR"] = str(temporary)
    alone = len(layers) == 1  # its output is shown at once
    works = {
        layer.name: layer_work(
            replace(layer, cores=min(layer.cores, os.cpu_count() or 1)),
            None if alone else logs / f"{layer.name}.log",
            (times / f"{layer.name}.json").absolute(),
            temporary,
        )
        for layer in layers
    }
    run, before = Run(layers, works, preparations(layers, logs)), busy()
    try:
        run.until_done()
    except KeyboardInterrupt:
        leftovers.remove_run(temporary)
        raise
    took = report.times(works, times, run.seconds, (busy() - before) / max(run.seconds, 0.01))
    (BUILD / "test-times.json").write_text(json.dumps(took, indent=1) + "\n")
    say("\n" + report.table(took))
    if failed := [name for name, work in works.items() if work.code]:
        if shown := report.failures(works, times):
            say(f"\n{shown}\n")
        say(f"failed: {' '.join(failed)}")
        return 1
    leftovers.remove_run(temporary)
    say(f"all is well: {' '.join(works)} in {run.seconds:.0f} s")
    if not os.environ.get(FULL):
        say("left out: the long layers, tests/full.txt, and tests with the mark full.only; script/test --full runs all")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except GpupoolError as error:
        say(str(error))
        sys.exit(2)
