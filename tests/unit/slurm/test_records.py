"""Records of scontrol: free text cannot imitate other keys, in either form, and any bytes can be read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpupool.slurm import records

FREE = {"Reason": ("Comment", "Extra"), "Comment": ("Extra",)}
MANY = """NodeName=a Arch=x86_64
   Gres=(null) State=DOWN Weight=1
   Partitions=short,long
   Reason={reason} [root@2030-01-31T08:12:00]
   Comment={comment}
   Extra=stamp

NodeName=b Arch=x86_64
   State=IDLE

"""
ONE = (
    "NodeName=a Arch=x86_64  Gres=(null) State=DOWN Weight=1  Partitions=short,long  "
    "Reason={reason} [root@2030-01-31T08:12:00] Comment={comment} Extra=stamp\n"
    "NodeName=b Arch=x86_64 State=IDLE\n"
)
#: Texts that a user may write into a comment, or an admin into a reason.
HOSTILE = [
    "a fan State=IDLE",
    "State=IDLE",
    "x NodeName=b State=IDLE",
    "x\r   State=IDLE",
    "x\x0b   State=IDLE\x0c\x1c\x85\u2028NodeName=b State=DOWN",
    "x\n   State=IDLE",
    "x\nNodeName=b State=DOWN",
    "x=y = State=IDLE",
    '"State=IDLE"',
    "\x1b[2J State=IDLE",
    "größer � State=IDLE",
]
both = pytest.mark.parametrize("form", [MANY, ONE], ids=["many lines", "one line"])


@both
@pytest.mark.parametrize("text", HOSTILE)
def test_free_text_imitates_no_key_and_no_other_record(form: str, text: str) -> None:
    for values in ({"reason": text, "comment": "x"}, {"reason": "x", "comment": text}):
        a, b = records.read(form.format(**values), "NodeName", FREE)[:2]
        assert (a["NodeName"], a["State"], a["Weight"], a["Partitions"]) == ("a", "DOWN", "1", "short,long")
        assert b["State"] == "IDLE" or "\nNodeName" in text


@both
@given(reason=st.text(st.characters(exclude_characters="\n")), comment=st.text(st.characters(exclude_characters="\n")))
def test_any_text_without_a_newline_leaves_the_other_keys_unchanged(form: str, reason: str, comment: str) -> None:
    a, b = records.read(form.format(reason=reason, comment=comment), "NodeName", FREE)
    assert {key: a[key] for key in ("NodeName", "Arch", "Gres", "State", "Weight", "Partitions")} == {
        "NodeName": "a", "Arch": "x86_64", "Gres": "(null)", "State": "DOWN", "Weight": "1", "Partitions": "short,long",
    }  # fmt: skip
    assert b == {"NodeName": "b", "Arch": "x86_64", "State": "IDLE"}


def test_free_text_is_complete_in_the_many_line_form() -> None:
    for text in filter(lambda text: "\n" not in text, HOSTILE):
        record = records.read(MANY.format(reason=text, comment=text), "NodeName", FREE)[0]
        assert record["Reason"] == f"{text} [root@2030-01-31T08:12:00]".strip()
        assert record["Comment"] == text.strip()
        assert record["Extra"] == "stamp"


@both
def test_bytes_that_are_not_utf_8_are_read(form: str) -> None:
    answer = form.format(reason="gr\xf6sser", comment="\xff\xfe").encode("latin-1")
    a, _ = records.read(answer, "NodeName", FREE)
    assert a["State"] == "DOWN"
    assert a["Reason"] == "gr\ufffdsser [root@2030-01-31T08:12:00]"


@pytest.mark.parametrize("answer", ["", "\n", "Node x not found\n", "   State=IDLE\n", "No nodes in the system\n"])
def test_other_text_has_no_record(answer: str) -> None:
    assert records.read(answer, "NodeName", FREE) == []


def test_a_line_of_slurm_conf_is_read_with_blanks_in_its_values() -> None:
    line = "PartitionName=all Nodes=n[1-2]  MaxTime=2880 Comment=two words State=UP"
    assert records.pairs(line) == {
        "PartitionName": "all", "Nodes": "n[1-2]", "MaxTime": "2880", "Comment": "two words", "State": "UP",
    }  # fmt: skip
    assert records.pairs("TRESBillingWeights=CPU=1.0,Mem=0.25G") == {"TRESBillingWeights": "CPU=1.0,Mem=0.25G"}
