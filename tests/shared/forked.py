"""Run the command line in a process that is forked from a process which has already imported it.

The import costs a second of CPU, as much as the rest of many commands, and the tests run hundreds of them. `python -m
forked` is the parent process; it reads one command a line.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "inventory" / "example"
_one = threading.Lock()
_server: subprocess.Popen[str] | None = None


def command(arguments: Sequence[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line in a folder as a person would, without a terminal; one command at a time.

    JSON that it prints must match its published schema.
    """
    from printed import command_of, problems  # not in the parent process, whose modules are those of the command line

    global _server
    with _one, tempfile.TemporaryDirectory(prefix="output-") as place:
        if _server is None or _server.poll() is not None:
            _server = subprocess.Popen(
                [sys.executable, "-m", "forked"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
            )  # fmt: skip
            atexit.register(_server.kill)
        argv = ["gpupool", *map(str, arguments)]
        assert _server.stdin
        assert _server.stdout
        _server.stdin.write(json.dumps([argv, str(folder), dict(os.environ), place]) + "\n")
        _server.stdin.flush()
        code = int(_server.stdout.readline())
        outputs = [(Path(place) / name).read_text() for name in ("stdout", "stderr")]
    if outputs[0] and (name := command_of(argv[1:])):
        assert problems(name, json.loads(outputs[0])) == []
    return subprocess.CompletedProcess(argv, code, *outputs)


def _serve() -> None:
    """Fork for each command that is read, and print its exit code; in the child, return once it is ready to run it."""
    commands, codes = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2, 1)
    from gevent import monkey, reinit
    from pyinfra.api.connectors import get_all_connectors

    import gpupool.engine.drive
    import gpupool.roles
    import gpupool.verify.run
    from gpupool.cli.app import COMMANDS, imported
    from gpupool.cluster.load import load
    from gpupool.compile import files_for

    # imported by the first line of the deploy, and by pyinfra when it connects
    for _, name, _ in pkgutil.iter_modules(gpupool.roles.__path__, "gpupool.roles."):
        importlib.import_module(name)
    get_all_connectors()
    for name in COMMANDS:
        imported(name)

    # templates are compiled on first use
    known = load(EXAMPLE)
    for node in known.nodes.values():
        list(files_for(known, node))
    # no garbage collection of shared objects in the children: it would also copy them
    gc.collect()
    gc.freeze()
    # gevent's own fork would watch the child in an event loop, which does not run here
    fork, waitpid = monkey.get_original("os", ("fork", "waitpid"))
    while asked := commands.readline():
        argv, folder, environment, place = json.loads(asked)
        child = fork()
        if not child:
            commands.close()
            codes.close()
            for number, name in ((1, "stdout"), (2, "stderr")):
                os.dup2(os.open(Path(place) / name, os.O_CREAT | os.O_WRONLY), number)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            sys.argv = argv
            reinit()
            return
        _, status = waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), file=codes, flush=True)
    os._exit(0)


if __name__ == "__main__":
    _serve()
    from gpupool.cli import main

    main()
