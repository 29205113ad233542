"""Codes for reasons of failures: a command prints one in its last line but one, whatever else it prints."""

import pytest

from gpupool.reasons import Code, Reason, marked, read

DOWN = Reason(Code.UNIT_DOWN, "slurmdbd.service")


@pytest.mark.parametrize("reason", [DOWN, Reason(Code.NEEDS_REBOOT), Reason()])
def test_a_printed_reason_is_read_again(reason: Reason) -> None:
    assert read(["first", marked(reason), "the message"]) == reason


@pytest.mark.parametrize(
    "errors",
    [
        [],
        ["the message"],
        [marked(DOWN), "a later line", "the message"],  # as in a journal that is printed before
        ["the message", marked(DOWN)],
        ["gpupool-reason:", "the message"],
        ["gpupool-reason: unheard-of", "the message"],
    ],
)
def test_other_lines_are_no_reason(errors: list[str]) -> None:
    assert read(errors) is None
