"""A node's answer only becomes lines with the node's own name, and written lines are read back."""

import base64
import re

from hypothesis import given, settings
from hypothesis import strategies as some

from gpupool.facts.host_keys import KINDS, HostKeys, known_in
from gpupool.facts.script import END
from gpupool.operations.host_keys import text_of

NODES = {"n1": "n1,n1.x.org,10.0.0.1", "n2": "n2,n2.x.org,10.0.0.2", "n3": "n3,10.0.0.3"}
LINE = re.compile(r"(?P<names>[a-z0-9.,]+) (?P<key>[a-z0-9-]+ [A-Za-z0-9+/]+=*)")


def key(kind: str, rest: bytes) -> str:
    return f"{kind} {base64.b64encode(len(kind).to_bytes(4, 'big') + kind.encode() + rest).decode()}"


KEYS = some.builds(key, some.sampled_from(KINDS), some.binary(min_size=1, max_size=8))
# line breaks of every sort, markers, patterns, names of others, and whole keys between them
WORDS = some.sampled_from(
    [*"\n\r\v\f\x1c\x85\u2028\0\t ,*!#=", "|1|", "@revoked", "@cert-authority", "n2", "10.0.0.2", "n3,n2 ", END]
)
SAYINGS = some.lists(some.lists(KEYS | WORDS | some.text(max_size=5), max_size=6).map("".join), max_size=12)


def keys_of(lines: list[str]) -> tuple[str, ...]:
    keys = HostKeys().process([*lines, END])
    assert keys is not None
    return keys


@settings(deadline=None)
@given(lies=SAYINGS, honest=some.lists(KEYS, max_size=3))
def test_no_line_of_a_node_names_another_host(lies: list[str], honest: list[str]) -> None:
    keys = {"n1": keys_of(lies), "n2": keys_of(honest)}
    text = text_of(NODES, keys)
    without = text_of(NODES, {**keys, "n1": ()})
    own = [line for line in text.split("\n") if line not in without.split("\n")]
    assert len(own) <= len(KINDS)
    for line in own:
        found = LINE.fullmatch(line)
        assert found, line
        assert found["names"] == NODES["n1"]
    # the rest is the same as without its answer, byte by byte
    assert [line for line in text.split("\n") if line not in own] == without.split("\n")


@settings(deadline=None)
@given(lies=some.lists(SAYINGS, min_size=3, max_size=3))
def test_written_keys_are_read_back(lies: list[list[str]]) -> None:
    keys = {name: keys_of(lines) for name, lines in zip(NODES, lies, strict=True)}
    assert known_in(text_of(NODES, keys).splitlines()) == {name: found for name, found in keys.items() if found}


@settings(deadline=None)
@given(KEYS)
def test_a_key_is_written_unchanged(line: str) -> None:
    assert keys_of([f"{line} root@n1"]) == (line,)


def test_a_key_has_a_maximum_length() -> None:
    assert keys_of([key("ssh-rsa", bytes(2100))])
    assert not keys_of([key("ssh-rsa", bytes(4096))])
