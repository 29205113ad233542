"""Tests that several files share say what they saw when they fail."""

import pytest

pytest.register_assert_rewrite("tests.guides.stands")
