"""What the example's machines get is kept in the repository: a change of it is seen in the change that makes it."""

import golden


def test_the_example_renders_what_the_repository_keeps() -> None:
    assert golden.rendered() == golden.KEPT.read_text(), "if that is meant: script/docs"
