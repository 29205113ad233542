"""Mutants change code only, a seed draws the same ones again, and survivors are distinguished from those noticed."""

import ast
from pathlib import Path

import mutants
from mutants import Copy, Mutant, copied, drawn
from mutations import KINDS, mutations

ROOT = Path(__file__).parents[3]

CODE = '''"""A module."""

LIMIT = 3


def most(numbers: list[int], at_least: int = 1) -> int | None:
    """Return the largest number of at least so many."""
    found = [it for it in numbers if it >= at_least]
    if not found and numbers:
        raise ValueError("no number is large enough", 7)
    tell("none", 5)
    return max(found) if len(found) < LIMIT else None
'''

TEST = """from gpupool.small.most import most


def test_the_largest():
    assert most([3, 4]) == 4
"""


def test_each_kind_of_place_is_changed_and_messages_are_not() -> None:
    found = {(mutation.kind, mutation.before.strip(), mutation.after.strip()) for mutation in mutations(CODE)}
    assert ("comparison", ">=", ">") in found
    assert ("comparison", "<", "<=") in found
    assert ("constant", "3", "4") in found
    assert ("constant", "1", "2") in found
    assert ("logic", "it >= at_least", "(it >= at_least, True)[1]") in found
    assert ("logic", "not found and numbers", "(not found or numbers)") in found
    assert ("statement", 'raise ValueError("no number is large enough", 7)', "pass") in found
    assert not {before for _, before, _ in found} & {'"""A module."""', "7", "5", '"none"', 'tell("none", 5)'}


def test_every_mutant_of_a_package_is_a_different_valid_program() -> None:
    for file in sorted((ROOT / "gpupool" / "joining").glob("*.py")):
        text = file.read_text(encoding="utf-8")
        for mutation in mutations(text)[::7]:
            ast.parse(changed := mutation.applied(text))
            assert changed != text, mutation


def test_a_seed_draws_the_same_mutants_again_in_turn_from_the_kinds() -> None:
    first = drawn(ROOT, ["gpupool/joining"], 7, 12)
    assert first == drawn(ROOT, ["gpupool/joining"], 7, 12)
    assert first != drawn(ROOT, ["gpupool/joining"], 8, 12)
    assert [mutant.mutation.kind for mutant in first[:6]] == [*KINDS]
    assert len({(mutant.file, mutant.mutation.line) for mutant in first}) == 12


def test_the_tests_of_a_module_are_those_of_its_folder_and_those_naming_it() -> None:
    tests = mutants.tests_of(ROOT, "gpupool/upkeep/drain.py")
    assert tests[0].startswith("tests/unit/upkeep/test_")
    assert mutants.tests_of(ROOT, "gpupool/joining/host_key.py").count("tests/unit/joining/test_host_key.py") == 1


def test_a_survivor_is_distinguished_from_a_noticed_mutant_and_the_copy_is_restored(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    for name, text in {
        "gpupool/small/most.py": CODE.replace('    tell("none", 5)\n', ""),
        "gpupool/__init__.py": "",
        "gpupool/small/__init__.py": "",
        "tests/unit/small/test_most.py": TEST,
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    file = "gpupool/small/most.py"
    before = (folder / file).read_text()
    by_text = {mutation.before.strip(): Mutant(file, mutation) for mutation in mutations(before)}
    copy = Copy(folder)
    assert copy.verdict(by_text["<"], 60).result == "survived"
    assert copy.verdict(by_text["return max(found) if len(found) < LIMIT else None"], 60).result == "noticed"
    assert copy.verdict(by_text["<"], 0.01).result == "late"
    assert (folder / file).read_text() == before


def test_a_copy_has_the_tracked_files_and_keeps_links(tmp_path: Path) -> None:
    copied(ROOT, tmp_path)
    assert (tmp_path / "gpupool" / "roles").is_symlink()
    assert (tmp_path / "script" / "mutants.py").exists()
    assert not (tmp_path / ".venv").exists()
