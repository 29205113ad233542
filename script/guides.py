"""Print the lines that a user types in a guide and that no row of tests/guides/commands.tsv has.

usage: guides.py FOLDER, with the guides as NAME.md. Exits 1 if there are such lines. Typed lines are in code blocks,
and in sentences as code of two words or more: `sbatch job.sh`, but not `sbatch`, `--mem 4G` or `<your name>`.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

CODE = re.compile(r"(`+)(.+?)\1")
COMMAND = re.compile(r"[a-z]\S* .+")
ROWS = Path(__file__).parents[1] / "tests" / "guides" / "commands.tsv"


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line of a guide with something that a user types."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        fence = line.lstrip().startswith("```")
        if fence and not re.fullmatch(r"\s*```.+```.*", line):
            inside = not inside
        elif inside and line.strip():
            yield number, line.strip()
        elif not inside and (commands := [code for _, code in CODE.findall(line) if COMMAND.fullmatch(code)]):
            yield number, "; ".join(commands)


def rows(guide: str) -> set[int]:
    """Return the numbers of all lines in the rows of a guide."""
    numbers: set[int] = set()
    for row in ROWS.read_text(encoding="utf-8").splitlines():
        name, _, rest = row.partition("\t")
        if name == guide:
            first, _, last = rest.partition("\t")[0].partition("-")
            numbers |= set(range(int(first), int(last or first) + 1))
    return numbers


def main(folder: Path) -> int:
    """Print the missing lines of the guides that have any rows."""
    guides = {row.partition("\t")[0] for row in ROWS.read_text(encoding="utf-8").splitlines() if row[0] != "#"}
    missing = 0
    for guide in sorted(guides):
        there = rows(guide)
        for number, line in lines_of((folder / f"{guide}.md").read_text(encoding="utf-8")):
            if number not in there:
                print(f"{guide}.md:{number}: {line}")
                missing += 1
    return int(missing > 0)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
