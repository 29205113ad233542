"""A similar name is suggested for a misspelt name, and none for an unrelated name."""

import pytest

from gpupool.cluster.near import misspelt


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("contributed_gpu", ["contributed_gpus", "limits"], ["contributed_gpus"]),
        ("frist", ["first", "last"], ["first"]),
        ("norml", ["normal", "long"], ["normal"]),
        ("Normal", ["normal"], ["normal"]),
        ("bx", ["box"], ["box"]),
        ("default_time", ["max_time", "default"], []),
        ("timetables", ["preemption"], []),
        ("per_job_min", ["per_job", "per_user"], []),
        ("red", ["blu", "rib"], []),
        ("x", [], []),
    ],
)
def test_a_slip_of_one_or_two_letters_is_a_misspelling(word: str, known: list[str], meant: list[str]) -> None:
    assert misspelt(word, known) == meant
