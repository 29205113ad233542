"""Long forms of tests: `script/test --full` runs them, and the suite of each day runs a sample of them."""

import os

import pytest
from suite.layers import FULL

only = pytest.mark.skipif(not os.environ.get(FULL), reason="only in script/test --full")
