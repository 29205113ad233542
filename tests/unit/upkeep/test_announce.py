"""The message about maintenance is on all heads, and a head that does not answer is named."""

from fake_controller import FakeController

from gpupool.upkeep.announce import PATH, announce


def test_the_message_is_on_heads_only_and_removed_again(fake: FakeController) -> None:
    assert announce(fake, "Maintenance") == {}
    assert fake.files == {("ctl", PATH): "Maintenance"}
    assert announce(fake, "") == {}
    assert fake.files == {("ctl", PATH): ""}


def test_a_head_without_an_answer_is_named(fake: FakeController) -> None:
    fake.silent.add("ctl")
    assert announce(fake, "Maintenance") == {"ctl": "ctl: no answer in 20 s"}
