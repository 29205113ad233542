"""Data cases of the facts, run by pyinfra-testing: `cases/<module>.<Fact>/<case>.yml`."""

from pathlib import Path

import pytest
from pyinfra_testing.facts import make_fact_tests

# the commands run for real in tests/operations/test_files_for_real.py and in the testbed
pytestmark = pytest.mark.filterwarnings("ignore:No command set")
CASES = Path(__file__).parent / "cases"

for folder in sorted(CASES.iterdir()):
    tests = make_fact_tests("gpupool.facts", folder.name, folder)
    tests.__name__ = folder.name.replace(".", "_")
    globals()[f"Test_{tests.__name__}"] = tests
del folder, tests
