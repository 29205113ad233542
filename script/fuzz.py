"""Random changes to inventories that come with gpupool, by a seed, and the answers of check."""

import argparse
import contextlib
import io
import random
import re
import shutil
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import fuzz_cases
from fuzz_cases import ROOT

from gpupool import cli
from gpupool.cluster.load import examine
from gpupool.compile import files_for
from gpupool.compile.slurm.accounting import entities
from gpupool.slurm.releases import DEFAULT

INVENTORIES = tuple(sorted(path.parent for path in (ROOT / "inventory").glob("*/inventory.py")))
LONGEST = 10  # seconds that one check may take

_SCALAR = re.compile(r"(?<=: )[^\s,{}\[\]#][^,{}\[\]\n#]*|(?<=[\[,] )[^\s,{}\[\]:#][^,{}\[\]\n:#]*")
_HOSTILE = (
    *(
        "",
        "~",
        "true",
        "yes",
        "0",
        "-1",
        "1e9",
        ".nan",
        "1.5",
        "9" * 18,
        "9" * 5000,
        "0x10",
        "00",
        "4:00:00",
        "2030-02-30",
    ),
    *(
        "[]",
        "{}",
        "[[]]",
        "{a: b}",
        "*a",
        "&a [*a]",
        "&a b",
        "!!python/object/apply:os.system [id]",
        "!x y",
        "? a",
        "- a",
    ),
    *('"a\\nb"', '"\\e[2J"', '"\\0"', '"\\u2028"', "'a''b'", '"', "|", ">", "%h", "@x", "`id`", "$(id)", "a#b", "a; b"),
    *(
        "9" * 400 + "G",
        "9" * 4000 + "w",
        "y" * 70_000,
        "é",
        "\u202e",
        "\U0001f600",
        ":100:",
        "[red]x",
        "/etc",
        "/",
        "../..",
        "/a//b",
    ),
    *(
        "a[1-2]",
        "a[1-999999999]",
        "[1-3]",
        "a[1-2][3-4]",
        "@compute",
        "@",
        "@*",
        "@nobody:x",
        "a!b",
        "a&b",
        "a,,b",
        "{user[0]}",
    ),
)
_SIGNS = "-:[]{},&*!|>'\"#%@`?~ \t\n\r\\é\x00\x1b\x85\u2028"


def changed(text: str, other: str, pick: random.Random) -> bytes:
    """Return a text with one to four changes; pieces are taken from `other`."""
    for _ in range(pick.randint(1, 4)):
        text = pick.choice(_CHANGES)(text, other, pick)
    data = text.encode("utf-8", "surrogatepass")
    if pick.random() < 0.03:
        at = pick.randrange(len(data) + 1)
        data = pick.choice([b"\xef\xbb\xbf" + data, data[:at] + b"\xff" + data[at:], text.encode("utf-16"), data[:at]])
    return data


def _value(text: str, _: str, pick: random.Random) -> str:
    spots = list(_SCALAR.finditer(text))
    if not spots:
        return text
    spot = pick.choice(spots)
    return text[: spot.start()] + pick.choice(_HOSTILE) + text[spot.end() :]


def _swapped(text: str, _: str, pick: random.Random) -> str:
    spots = list(_SCALAR.finditer(text))
    if len(spots) < 2:
        return text
    one, two = sorted(pick.sample(spots, 2), key=lambda spot: spot.start())
    return text[: one.start()] + two[0] + text[one.end() : two.start()] + one[0] + text[two.end() :]


def _signs(text: str, _: str, pick: random.Random) -> str:
    start = pick.randrange(len(text) + 1)
    return text[:start] + "".join(pick.choices(_SIGNS, k=pick.randint(0, 4))) + text[start + pick.randint(0, 12) :]


def _lines(text: str, other: str, pick: random.Random) -> str:
    lines, others = text.split("\n"), other.split("\n")
    at = pick.randrange(len(lines))
    match pick.randrange(5):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, lines[at])
        case 2:
            lines.insert(at, pick.choice(others))
        case 3:
            lines[at] = " " * pick.randrange(8) + lines[at].lstrip()
        case _:
            lines.insert(at, pick.choice(lines))
    return "\n".join(lines)


def _key(text: str, _: str, pick: random.Random) -> str:
    keys = list(re.finditer(r"[a-z_]+(?=:)", text))
    if not keys:
        return text
    key = pick.choice(keys)
    return text[: key.start()] + pick.choice([pick.choice(keys)[0], key[0][1:], '"a\\nb"', "x"]) + text[key.end() :]


def _bomb(text: str, _: str, pick: random.Random) -> str:
    laughs = "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
    bombs = ("\nx: " + "[" * 5000, "\nx: " + "[ #]\n" * 5000, "\nx: " + '["]",' * 5000, "\nx:\n" + "- " * 5000)
    return text + pick.choice(
        (*bombs, f"\na0: &a0 [x]\n{laughs}", "".join(f"\nk{n}: 1" for n in range(5000)), "\n---\nx: 1")
    )


_CHANGES: tuple[Callable[[str, str, random.Random], str], ...] = (
    *(_value, _value, _value, _value, _swapped, _swapped, _signs, _signs, _lines, _lines, _key),
    _bomb,
)


def case(seed: int, number: int, folder: Path) -> None:
    """Write the inventory of a number into a folder: a changed inventory of gpupool."""
    pick = random.Random(f"{seed}-{number}")
    files = sorted(pick.choice(INVENTORIES).glob("*.yml"))
    target = pick.choice(files)
    other = pick.choice(sorted(pick.choice(INVENTORIES).glob("*.yml"))).read_text()
    for file in files:
        shutil.copy(file, folder / file.name)
    (folder / target.name).write_bytes(changed(target.read_text(), other, pick))


def faults(folder: Path) -> list[str]:
    """Return the faults in check's answer to an inventory: of the command, its complaints, the compiled data."""
    code: object = 0
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            sys.argv = ["gpupool", "check", str(folder)]
            try:
                cli.main()
            except SystemExit as end:
                code = end.code or 0
        loaded = examine(folder)
        if cluster := loaded.cluster:
            entities(cluster)
            for node in cluster.nodes.values():
                files_for(cluster, node)
    except Exception:
        return [traceback.format_exc()]
    wrong = [f"exit code {code}"] if code != (2 if loaded.errors else 0) else []
    wrong += ["a traceback"] if "Traceback" in output.getvalue() else []
    place = re.compile(rf"{re.escape(str(folder))}(/[^/]+)?:[0-9]+: .")
    lines = [str(complaint) for complaint in loaded.complaints]
    wrong += [f"not at a line of a file: {line[:300]}" for line in lines if not place.match(line)]
    wrong += [f"more than a line, or signs: {line[:300]!r}" for line in lines if not line.isprintable()]
    return wrong + [f"{len(line)} characters: {line[:300]}" for line in lines if len(line) > 2000]


def main(most: int, seed: int) -> int:
    """Try `most` inventories; return how many failed."""
    limit = fuzz_cases.by_the_wall(2 * LONGEST)  # `faults` checks twice: by the command, and for the complaints
    return fuzz_cases.failed(most, str(seed), limit, lambda number, folder: case(seed, number, folder), faults)


def asked(usual: int, releases: Sequence[str] = ()) -> tuple[Any, ...]:
    """Return what the command line asks for: how many inventories, by default `usual`, the seed, and a release.

    Without `releases`, there is no third.
    """
    parser = argparse.ArgumentParser(prog="script/fuzz [--slurm | --limits]", description="Random inventories.")
    parser.add_argument("most", nargs="?", type=int, default=usual, help=f"how many ({usual})")
    parser.add_argument("seed", nargs="?", type=int, default=1, help="of the choices (1)")
    if releases:
        parser.add_argument("release", nargs="?", choices=releases, default=DEFAULT, help=f"of Slurm ({DEFAULT})")
    return tuple(vars(parser.parse_args()).values())


if __name__ == "__main__":
    sys.exit(1 if main(*asked(10_000)) else 0)
