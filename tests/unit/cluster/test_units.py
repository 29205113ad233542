"""Sizes and durations, and their form in Slurm."""

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from gpupool.cluster.units import (
    Maximum,
    Size,
    SlurmMemory,
    format_duration,
    format_size,
    parse_duration,
    parse_size,
    parse_slurm_memory,
)


@given(st.integers(0, 10**12))
def test_a_size_survives_writing_and_reading(mib: int) -> None:
    assert parse_size(format_size(mib)) == mib


@given(st.integers(0, 10**9))
def test_a_duration_survives_writing_and_reading(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@given(st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.none(), st.lists(st.integers())))
def test_any_other_value_is_refused_with_the_expected_form(value: object) -> None:
    for parse, what in ((parse_size, "size"), (parse_duration, "duration")):
        try:
            words = None if parse(value) >= 0 else "negative"
        except ValueError as error:
            words = str(error)
        assert words is None or f"is not a {what}; write a number and" in words


@pytest.mark.parametrize(
    ("text", "mib"),
    [
        *[("384G", 393216), ("1.5T", 1572864), ("1.5P", 1610612736), ("10000M", 10000), ("0M", 0)],
        *[("479GB", 490496), ("479 GiB", 490496), ("6.4TB", 6710886), ("2 T", 2097152)],
    ],
)
def test_sizes_are_read(text: str, mib: int) -> None:
    assert parse_size(text) == mib


@pytest.mark.parametrize("text", ["479", "479gb", "479 K", "479  GB", "GB", "479GBs", 479])
def test_other_sizes_are_refused(text: object) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        parse_size(text)


@pytest.mark.parametrize(("value", "mib"), [(515283, 515283), ("515283", 515283), ("503G", 515072)])
def test_memory_is_read_as_slurmd_prints_it(value: object, mib: int) -> None:
    assert parse_slurm_memory(value) == mib


@pytest.mark.parametrize("value", [True, -1, 1.5, "", "1e6", None])
def test_other_memory_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        parse_slurm_memory(value)


@pytest.mark.parametrize("word", ["infinite", "unlimited", "UNLIMITED"])
def test_slurms_words_for_no_limit_are_read(word: str) -> None:
    assert TypeAdapter(Maximum).validate_python(word) is None


@given(st.one_of(st.integers(-5, 10**6), st.from_regex(r"[0-9.]{1,3} ?[KMGTm]?i?[Bb]?|[a-zU]{1,9}|[0-9]{1,2}[hdx]?")))
@example(value="infinite")
def test_editors_accept_what_check_accepts(value: object) -> None:
    """The JSON Schema of a unit and its validator agree."""
    units: tuple[Any, ...] = (Size, SlurmMemory, Maximum)
    for unit in units:
        adapter = TypeAdapter[Any](unit)
        try:
            adapter.validate_python(value)
            accepted = True
        except ValidationError as error:
            accepted = "must be longer" in str(error)
        assert _fits(adapter.json_schema(), value) == accepted, (unit, value)


def _fits(schema: dict[str, Any], value: object) -> bool:
    if "anyOf" in schema:
        return any(_fits(each, value) for each in schema["anyOf"])
    if schema["type"] == "integer":
        return isinstance(value, int) and value >= schema.get("minimum", value)
    return schema["type"] == "string" and isinstance(value, str) and bool(re.search(schema["pattern"], value))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2-00:00:00", 2 * 86400),
        ("4:00:00", 4 * 3600),
        ("1-12", 36 * 3600),
        ("1-12:30", 36 * 3600 + 1800),
        ("0:00:40", 40),
        ("4d4h", 100 * 3600),
        ("1w2d3h4m5s", 9 * 86400 + 3 * 3600 + 4 * 60 + 5),
    ],
)
def test_durations_as_slurm_writes_them_and_of_several_units(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "4", "90", "4h4d", "4h 4m", "1:60:00", "1-", "-1", "1-1:1", "4d4", "1.5h", "2d-4"]
)
def test_an_ambiguous_text_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


@given(st.integers(0, 5000), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_a_duration_in_slurms_notation_has_slurms_value(days: int, hours: int, minutes: int, seconds: int) -> None:
    whole = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    assert parse_duration(f"{days}-{hours:02}:{minutes:02}:{seconds:02}") == whole


@pytest.mark.parametrize(("clock", "hint"), [("4:30", "to Slurm this is 4m30s: write that, or 4h30m")])
def test_a_time_of_day_is_refused_with_a_hint(clock: str, hint: str) -> None:
    with pytest.raises(ValueError, match=r"is not a duration") as raised:
        parse_duration(clock)
    assert hint in str(raised.value)
