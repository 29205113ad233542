"""The contents of a rendered file as its program reads them: by the program if it is installed, else by its rules."""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lupa import lua54

from gpupool.wanted import File

# slurm.conf(5) by the rules of Slurm's parse_config.c: the next key may follow a value on the same line
_PAIR = re.compile(r'\s*([A-Za-z0-9_.]+)\s*([-*+/]?)=\s*(?:"([^"]*)"|(\S+))(?:\s|$)')
_LUA = re.compile(r"""--[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\w+|\S""", re.DOTALL)
_QUOTES = ("'", '"')
_PEOPLE = "u-vision1 u-optics1"
_IDENTITY = 'id() { case $1 in -u) echo 1000;; -un) echo "$WHO";; -gn) echo group;; esac; }'


def parsed(file: File, folder: Path) -> list[str]:
    """Return the contents of a file, sorted; ValueError if its program would not read it. Files run in the folder."""
    return sorted(_reader(file.path)(file.text, folder))


def _reader(path: str) -> Callable[[str, Path], Iterator[str]]:
    if path.endswith(".json"):
        return _json
    if path.endswith(".lua"):
        return _lua
    if re.search(r"/systemd/.*\.(service|timer|conf|mount|automount)$", path):
        return _unit
    if path == "/entities":
        return lambda text, _: iter(re.split(r"([,:{} ])", text))
    if path == "/etc/slurm/gpupool/task_prolog":
        return _task_prolog
    if path.startswith("/etc/slurm/") and not path.startswith("/etc/slurm/gpupool/"):
        return _slurm
    if path == "/usr/local/bin/sbash":
        return _sbash
    if path.startswith(("/etc/profile.d/", "/etc/default/")):
        return _shell
    return _sshd if "sshd_config" in path else _lines


def _lines(text: str, _: Path) -> Iterator[str]:
    """Yield the lines of /etc/hosts, exports, tables and programs, without the text after a #."""
    for line in text.splitlines():
        yield from [" ".join(line.partition("#")[0].split())] if line.partition("#")[0].strip() else []


def _sshd(text: str, _: Path) -> Iterator[str]:
    for line in text.split("\n"):
        if line.strip() and not line.startswith("#"):
            if '"' in line or "#" in line:
                raise ValueError(f"sshd: {line}")
            yield " ".join(line.split())


def _slurm(text: str, _: Path) -> Iterator[str]:
    for number, line in enumerate(re.sub(r"\\\n", "", text).split("\n")):
        rest = re.sub(r"(?<!\\)#.*", "", line)
        first = ""
        while rest.strip():
            pair = _PAIR.match(rest)
            if pair is None:
                raise ValueError(f"slurm.conf:{number}: {rest}")
            first = first or f"{pair[1]}={pair[3] or pair[4]}"
            yield f"{first} {pair[1]}{pair[2]}={pair[3] or pair[4]}"
            rest = rest[pair.end() :]


def _unit(text: str, _: Path) -> Iterator[str]:
    """Yield the settings of a unit by systemd.syntax(7): sections, comments, continued lines, and specifiers with %."""
    section = ""
    for line in re.sub(r"\\\n", " ", text).split("\n"):
        if line.startswith("["):
            section = line
        elif line.strip() and line[0] not in "#;":
            key, is_one, value = line.partition("=")
            if not is_one:
                raise ValueError(f"unit: {line}")
            for word in re.sub(r"%(.)", lambda match: "%" if match[1] == "%" else f"<{match[1]}>", value).split():
                yield f"{section} {key} {word}"


def _json(text: str, _: Path) -> Iterator[str]:
    def leaves(value: Any, path: str) -> Iterator[str]:
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
        for step, below in items or ():
            yield from leaves(below, f"{path}/{step if isinstance(value, dict) else ''}")
        if items is None:
            yield f"{path}={value}"

    return leaves(json.loads(text), "")


def _lua(text: str, _: Path) -> Iterator[str]:
    """Yield the tokens of a program that Lua loads, with Lua's value of each string."""
    lua = lua54.LuaRuntime()
    lua.eval("function(text) assert(load(text)) end")(text)
    for number, line in enumerate(_LUA.findall(text)):
        yield f"{number:05} {lua.eval(line) if line[0] in _QUOTES else line}"


def _run(command: list[str], folder: Path, **more: str) -> str:
    path = f"{folder}:{os.environ['PATH']}"
    done = subprocess.run(command, capture_output=True, cwd=folder, env={"PATH": path, **more}, check=False)
    if done.returncode or done.stderr:
        raise ValueError(f"{command}: {done.returncode} {done.stderr.decode(errors='replace')}")
    return done.stdout.decode()


def _program(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)
    return str(folder / name)


def _shell(text: str, folder: Path) -> Iterator[str]:
    file = _program(folder, "file", text)
    _run(["bash", "-n", file], folder)
    for who in _PEOPLE.split():
        output = _run(["bash", "-c", f'{_IDENTITY}; set -a; . "$0"; env -0', file], folder, WHO=who, LC_ALL="C.UTF-8")
        for word in output.split("\0"):
            if word and not re.match("(PATH|PWD|SHLVL|OLDPWD|_|BASH_FUNC_.*)=", word):
                yield f"{who} {word}"
    yield from ["left " + path.name for path in folder.iterdir() if path.name not in ("file", "sbash", "srun")]


def _task_prolog(text: str, folder: Path) -> Iterator[str]:
    """Yield the variables that slurmstepd takes from the output of a task prolog."""
    file = _program(folder, "file", text)
    _run(["bash", "-n", file], folder)
    for who in _PEOPLE.split():
        output = _run(["bash", "-c", f'{_IDENTITY}; . "$0"', file], folder, WHO=who, SLURM_JOB_ID="7", LC_ALL="C.UTF-8")
        yield from (f"{who} {line}" for line in output.split("\n"))
    yield from ["left " + path.name for path in folder.iterdir() if path.name != "file"]


def _sbash(text: str, folder: Path) -> Iterator[str]:
    file = _program(folder, "sbash", text)
    _program(folder, "srun", '#!/bin/sh\nprintf "%s\\n" "$@"\n')
    _run(["bash", "-n", file], folder)
    for number, arguments in enumerate(([], ["--help"], ["-G", "0"])):
        for line in _run([file, *arguments], folder).splitlines():
            yield f"{number} {line}"
    yield from ["left " + path.name for path in folder.iterdir() if path.name not in ("file", "sbash", "srun")]
