"""An unknown key is answered with the key that an inventory has for the same thing."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from gpupool.cluster import guessed
from gpupool.cluster.mappings import form, keys_at, mappings
from gpupool.cluster.shape import validated
from gpupool.slurm.keys.tables import keys

GUESSES = yaml.safe_load((Path(__file__).parent / "guesses.yml").read_text())
#: The natural mapping of each table of Slurm's terms; their keys are parameters of these.
NATURAL = {"partition": "partitions[]", "node": "nodes[]", "qos": "qos.NAME", "association": "accounts[]"}
TABLES = (*NATURAL, "slurm_conf", "cgroup", "slurmdbd")
NOT_OF_THE_LANGUAGE = {"groups", "slurm/job_submit.lua", "slurm/plugstack.conf", "slurm/prolog-NAME"}


def complaint(mapping: str, key: str) -> str | None:
    """Return the hint of `check` about a key that is written into a mapping."""
    data: Any = {key: 1}
    for step in reversed(mapping.split(".") if mapping else []):
        data = {step.removesuffix("[]"): [data] if step.endswith("[]") else data}
    _, found = validated(data)
    (unknown,) = [each for each in found if each.message == "unknown key"]
    return unknown.hint


def exists(answer: str) -> bool:
    """Return whether the language has a key: `limits.per_user.gpu`, `slurm.parameters.KillWait`."""
    above, _, last = answer.rpartition(".")
    if above.endswith("parameters"):
        return exists(above) and any(last.lower() in keys(table) for table in TABLES)
    if last == "NAME" or answer in ("qos.NAME",):
        return exists(above)
    return last in mappings().get(above, [])


@pytest.mark.parametrize(("mapping", "key"), [(where, key) for where, rows in GUESSES.items() for key in rows])
def test_a_guessed_key_has_the_right_answer(mapping: str, key: str) -> None:
    answer = GUESSES[mapping][key]
    hint = complaint(mapping, key) or ""
    assert hint.partition(":")[0] in (f"use {answer}", f"did you mean {answer}?")


def test_each_answer_is_a_key_of_the_language() -> None:
    for (mapping, _), answer in guessed._of_admins().items():
        key = answer.key.partition(":")[0]
        own = f"{mapping}.{key}" if mapping else key
        assert exists(own) or exists(key), answer


@pytest.mark.parametrize("table", NATURAL)
def test_each_term_of_slurm_has_an_answer_at_its_natural_place(table: str) -> None:
    mapping = NATURAL[table]
    for name in keys(table):
        if name in mappings()[mapping]:
            continue
        hint = complaint(mapping, name) or ""
        if not hint.startswith("it cannot be set: "):
            verb, _, answer = hint.partition(":")[0].rstrip("?").rpartition(" ")
            assert verb in ("use", "did you mean"), (name, hint)
            assert exists(f"{mapping}.{answer}") or exists(answer) or answer in NOT_OF_THE_LANGUAGE, (name, hint)


def test_a_term_that_cannot_be_set_has_the_reason() -> None:
    assert complaint("scheduler", "scheduler_type") == "it cannot be set: jobs of owners need sched/backfill"


def test_a_key_of_another_mapping_is_found_there() -> None:
    assert complaint("partitions[]", "max_wall") == "use max_time"
    assert complaint("scheduler", "max_nodes") == "use partitions[].max_nodes"
    assert complaint("nodes[]", "gpu_slots") == "use hardware.NAME.gpu_slots"


def test_a_small_mapping_lists_its_keys() -> None:
    assert complaint("slurm.backup", "when") == "backup has to, at, keep"


def test_a_word_without_an_answer_has_no_hint() -> None:
    assert complaint("partitions[]", "flavour") is None


def test_a_path_has_the_form_of_the_documentation() -> None:
    assert form(("nodes", 3, "gpus", "a40")) == "nodes[].gpus.NAME"
    assert keys_at(("scheduler", "rpc_limit")) == ["bucket", "refill"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("walltime", ["partitions[].max_time", "qos.NAME.max_wall", "accounts[].limits.per_job.wall"]),
        ("ram", ["hardware.NAME.memory", "nodes[].memory"]),
        ("allow_qos", ["partitions[].qos"]),
        ("bf_window", ["slurm.parameters.SchedulerParameters"]),
        ("flavour", []),
    ],
)
def test_a_word_is_explained_by_the_keys_that_it_may_mean(word: str, meant: list[str]) -> None:
    assert sorted(guessed.keys_for(word)) == sorted(meant)
