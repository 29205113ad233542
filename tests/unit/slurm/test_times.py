"""Times of Slurm: each form can be read, and written times are read back."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpupool.slurm.times import duration, minutes, moment, seconds


@given(st.integers(0, 10**9))
def test_a_duration_survives_writing_and_reading(count: int) -> None:
    assert seconds(duration(count)) == seconds(duration(count, days=True)) == count


@given(st.integers(0, 10**9))
def test_minutes_are_rounded_up(count: int) -> None:
    assert count <= minutes(count) * 60 < count + 60


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("90", 5400),
        ("90:30", 5430),
        ("1:30:00", 5400),
        ("60:00:00", 216000),
        ("1-12", 129600),
        ("1-12:30", 131400),
        ("2-00:00:01", 172801),
        ("UNLIMITED", None),
        ("INFINITE", None),
        ("Partition_Limit", None),
        ("NOT_SET", None),
        ("N/A", None),
        ("(null)", None),
        ("", None),
    ],
)
def test_a_duration_of_slurm_conf_is_read(text: str, count: int | None) -> None:
    assert seconds(text) == count


def test_a_plain_number_may_be_seconds() -> None:
    assert seconds("90", 1) == 90
    assert seconds("90:00", 1) == 5400


@pytest.mark.parametrize("text", ["soon", "1-", "-1", "1:2:3:4", "1-2-3", "٣", "1:", "1h", "9" * 99])
def test_other_text_is_not_a_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration of Slurm"):
        seconds(text)


@pytest.mark.parametrize(
    ("count", "text"), [(14400, "04:00:00"), (172800, "2-00:00:00"), (90, "00:01:30"), (0, "00:00:00")]
)
def test_a_duration_has_the_form_that_slurm_prints(count: int, text: str) -> None:
    assert duration(count) == text


@pytest.mark.parametrize("text", ["N/A", "Unknown", "None", "NOT_SET", "(null)", ""])
def test_an_unknown_moment_is_none(text: str) -> None:
    assert moment(text) is None


def test_a_moment_has_the_time_zone_of_the_query() -> None:
    assert moment("2026-11-23T16:00:00") == datetime(2026, 11, 23, 16, 0)
    assert moment("2026-11-23T16:00:00", UTC) == datetime(2026, 11, 23, 16, 0, tzinfo=UTC)
    with pytest.raises(ValueError, match="Invalid isoformat"):
        moment("tomorrow")
