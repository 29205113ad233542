"""`pyinfra INVENTORY fact gpupool.facts.…` prints every fact: its answers in the cases become JSON."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyinfra_cli.prints import jsonify
from pyinfra_cli.util import json_encode

from gpupool.shown import as_data

CASES = Path(__file__).parent / "cases"
# pyinfra-testing cannot compare frozen sets, so that the cases have no whole answer of this fact
FURTHER = {"exports.Exports": ["A\t/tank/red\t10.0.0.0/24(sync,rw)", "gpupool-end"]}


def answers(folder: Path) -> list[Any]:
    """Return the fact's answers in the cases of a folder."""
    module, name = folder.name.split(".")
    fact = getattr(import_module(f"gpupool.facts.{module}"), name)()
    outputs = [yaml.safe_load(case.read_text())["output"] for case in sorted(folder.glob("*.y*ml"))]
    outputs += [FURTHER[folder.name]] if folder.name in FURTHER else []
    return [fact.process(output.splitlines() if isinstance(output, str) else output) for output in outputs]


@pytest.mark.parametrize("folder", sorted(CASES.iterdir()), ids=lambda folder: folder.name)
def test_each_answer_can_be_printed(folder: Path) -> None:
    whole = [answer for answer in answers(folder) if answer is not None]
    assert whole
    for answer in whole:
        json.loads(jsonify({"node": answer}, default=json_encode))


def test_a_set_is_sorted_and_a_key_of_several_words_is_one_text() -> None:
    (exports,) = [answer for answer in answers(CASES / "exports.Exports") if answer is not None]
    assert exports.to_json() == {"active": {"/tank/red": {"10.0.0.0/24": ["rw", "sync"]}}, "named": {}}
    assert as_data({("a", 1): (True, None)}) == {"a 1": [True, None]}
