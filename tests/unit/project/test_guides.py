"""tests/guides/commands.tsv: every command of a guide has a test that types it, or a reason why it has none."""

from pathlib import Path

import guides
import pytest

TESTS = Path(__file__).parents[2]
ROWS = [
    row.split("\t")
    for row in (TESTS / "guides" / "commands.tsv").read_text(encoding="utf-8").splitlines()
    if not row.startswith("#")
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}:{row[1]}")
def test_every_command_of_a_guide_is_typed_by_a_test_or_has_a_reason(row: list[str]) -> None:
    _, _, command, shown = row
    assert command
    if not shown.startswith("not here: "):
        texts = [file.read_text() for file in (*TESTS.glob("guides/*.py"), *TESTS.glob("testbed/test_*.py"))]
        assert any(f"def {shown}(" in text for text in texts), shown


def test_no_line_is_in_two_rows() -> None:
    lines = [(guide, line) for guide, where, *_ in ROWS for line in _lines(where)]
    assert len(lines) == len(set(lines))


GUIDE = """\
Run `vim file`, `sbatch` or `sbatch job.sh`.
Use `--gres=gpu:2 -c 6` for `<ngpus * 7>` CPUs.
```
srun hostname

```
"""


def test_commands_of_users_are_found_in_blocks_and_sentences() -> None:
    assert list(guides.lines_of(GUIDE)) == [(1, "vim file; sbatch job.sh"), (4, "srun hostname")]


def _lines(where: str) -> range:
    first, _, last = where.partition("-")
    return range(int(first), int(last or first) + 1)
