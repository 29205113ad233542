"""The reason of a drain of ours."""

from gpupool.slurm.nodes import reason


def test_a_reason_is_one_short_line_without_special_characters() -> None:
    text = reason("maintain", 'it\'s\n[root@x] "a|b" \x1b[31m' + "x" * 900)
    assert text.startswith("gpupool: maintain: it s root@x ")
    assert len(text) == 300
    assert not set(text) & set("[]\"'|\n\x1b")
