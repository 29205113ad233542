"""Checks that do not apply to a node are not counted; checks that cannot be made are listed with the reason."""

from typing import NoReturn

import pytest
from _pytest.outcomes import Skipped


class NotChecked(Skipped):
    """A check that cannot be made, with the reason."""


def only_if(applies: object) -> None:
    """End the current check without a result unless `applies` is true (or not empty)."""
    if not applies:
        not_applicable()


def not_applicable() -> NoReturn:
    """End the current check without a result."""
    pytest.skip()


def not_checked(reason: str) -> NoReturn:
    """End the current check, which cannot be made, with the reason."""
    raise NotChecked(reason)
