"""Values in the syntax of a Lua program: a real Lua reads them back."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from submitted import LUAS

from gpupool.compile.lua import laid_out, literal, long_string

SCALARS = st.text() | st.integers(-1000, 1000) | st.booleans()
VALUES = st.recursive(
    SCALARS,
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(min_size=1), values, min_size=1, max_size=9),
)


def read(text: str, lua: Any) -> Any:
    def back(value: Any) -> Any:
        if not hasattr(value, "items"):
            return value
        pairs = dict(value.items())
        return (
            [back(value) for value in pairs.values()]
            if all(isinstance(key, int) for key in pairs)
            else {key: back(entry) for key, entry in pairs.items()}
        )

    return back(lua.LuaRuntime(encoding="utf-8").execute(f"return {text}"))


@given(VALUES)
def test_lua_reads_the_written_value(value: Any) -> None:
    for lua in LUAS:
        assert read(literal(value), lua) == read(laid_out(value, 119), lua) == value


def test_a_long_table_fills_lines() -> None:
    names = dict.fromkeys((f"account-{number}" for number in range(100)), True)
    text = laid_out({"few": {"a": True}, "many": names})
    assert text.startswith('{\n  ["few"] = { ["a"] = true },\n  ["many"] = {\n    ["account-0"] = true, ["account-1"]')
    assert max(map(len, text.splitlines())) <= 120
    assert len(text.splitlines()) < 30
    assert text.split() == literal({"few": {"a": True}, "many": names}).split()


@given(st.text(st.sampled_from("]=[\nx")))
def test_brackets_in_a_text_do_not_end_a_long_string(text: str) -> None:
    for lua in LUAS:
        assert read(long_string(text), lua) == text
