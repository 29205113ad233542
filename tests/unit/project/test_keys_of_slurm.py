"""Every setting that Slurm shows is a key of an inventory, or docs/roles/slurm.md gives a reason why not."""

import re
from pathlib import Path

from gpupool.slurm.keys.tables import keys, own

HERE = Path(__file__).parent
PAGE = HERE.parents[2] / "docs/roles/slurm.md"
TABLES = {
    "scontrol show config": "slurm_conf",
    "scontrol show partition": "partition",
    "scontrol show node": "node",
    "sacctmgr show qos": "qos",
}
LEAST = 0.95


def shown() -> list[tuple[str, str, str]]:
    """Return each key with its command and its name in the table of that command."""
    lines = (HERE / "shown-24.11.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")][1:]
    return [(command, key, (name or key).lower()) for command, key, name in rows]


def can_be_set(command: str, name: str) -> bool:
    """Return whether an inventory has a key for it, or `parameters` accept it."""
    table = TABLES[command]
    whole = [entry for entry in own(table).get(name, ()) if not entry.option]
    known = name in keys(table) and keys(table)[name].known_in("24.11")
    return any(entry.word for entry in whole) or (known and all(entry.when for entry in whole))


def reasons() -> dict[tuple[str, str], str]:
    """Return the reasons of the page, by command and key."""
    section = PAGE.read_text().split("### Keys that cannot be set\n")[1].split("\n#")[0]
    found: dict[tuple[str, str], str] = {}
    commands: list[str] = []
    for line in section.splitlines():
        if not line.startswith("| ") or line.startswith("| shown by"):
            continue
        by, names, why = (cell.strip() for cell in line.strip("|").split("|"))
        commands = re.findall(r"`([^`]+)`", by) or commands
        for command in commands:
            found |= {(f"scontrol {command}", key): why for key in re.findall(r"`([^`]+)`", names)}
    return found


def test_nearly_every_key_can_be_set_or_has_a_reason() -> None:
    rows, why = shown(), reasons()
    settable = [row for row in rows if can_be_set(row[0], row[2])]
    explained = [row for row in rows if row not in settable and why.get(row[:2])]
    print(f"{len(rows)} keys: {len(settable)} can be set, {len(explained)} have a reason")
    assert (len(settable) + len(explained)) / len(rows) >= LEAST


def test_the_page_lists_exactly_the_keys_that_cannot_be_set() -> None:
    cannot = {(command, key) for command, key, name in shown() if not can_be_set(command, name)}
    assert set(reasons()) == cannot
    assert f"Of the {len(shown())} keys" in PAGE.read_text()


def test_the_page_has_the_reasons_of_check() -> None:
    page = reasons()
    for command, key, name in shown():
        for entry in own(TABLES[command]).get(name, ()):
            if (command, key) in page and not entry.option and not entry.when:
                assert page[command, key] == entry.why
