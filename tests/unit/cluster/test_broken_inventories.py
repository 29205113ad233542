"""Each error in an inventory is reported with its line and the reason, with exit code 2, and nothing is written."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import inventories
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpupool.cluster import text
from gpupool.cluster.checks import CHECKS
from gpupool.cluster.load import examine, load
from gpupool.compile import files_for
from gpupool.errors import InventoryError

HERE = Path(__file__).parent
BROKEN = sorted(path.name for path in (HERE / "broken").iterdir())
SMALL = (inventories.SMALL / "inventory.yml").read_text()
STORED = (inventories.STORED / "inventory.yml").read_text()


@pytest.fixture
def check(tmp_path: Path) -> Callable[[str], list[str]]:
    """Return a function that returns the complaints about a text, as lines without the path of the file."""

    def run(text: str) -> list[str]:
        (tmp_path / "inventory.yml").write_text(text)
        return [str(complaint).removeprefix(f"{tmp_path}/") for complaint in examine(tmp_path).open]

    return run


@pytest.mark.parametrize("case", BROKEN)
def test_check_prints_each_complaint_with_its_line(
    case: str, gpupool: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(HERE / "broken")
    done = gpupool("check", case)
    assert done.code == 2
    assert done.out.splitlines()[1:] == (HERE / "broken" / case / "expected.txt").read_text().splitlines()
    assert re.fullmatch(r"1 error, 0 warnings(, 1 accepted)?( \(there may be more .*\))?", done.out.splitlines()[0])
    assert "Traceback" not in done.out + done.err


@pytest.mark.parametrize("case", [*BROKEN, "nowhere"])
def test_render_prints_the_same_complaints_and_writes_nothing(
    case: str, gpupool: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(HERE / "broken")
    done = gpupool("render", case, "--out", tmp_path / "out")
    assert done.code == 2
    assert done.out == ""
    if case in BROKEN:
        assert done.err == (HERE / "broken" / case / "expected.txt").read_text()
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_is_an_error(gpupool: Callable[..., Any]) -> None:
    done = gpupool("check", "nowhere")
    assert done.code == 2
    words = "nowhere:1: error: there is no such file or folder (`gpupool init NAME` creates an example inventory)"
    assert done.out.splitlines() == ["1 error, 0 warnings", words]


def test_the_installed_command_has_the_same_exit_code() -> None:
    """Once in a separate process, with the installed command."""
    command = [str(Path(sys.executable).parent / "gpupool"), "check", "broken/typo_key"]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    assert done.returncode == 2
    assert done.stdout.splitlines()[1].startswith(
        "broken/typo_key/inventory.yml:11: error: accounts[0].contributed_gpu: unknown key"
    )
    assert done.stderr == ""


@pytest.mark.parametrize("text", [SMALL, STORED], ids=["small", "stored"])
def test_the_inventory_without_slips_is_valid(text: str, check: Callable[[str], list[str]]) -> None:
    assert check(text) == []


@pytest.mark.parametrize("folder", ["broken/caps_above_the_gpus", "broken/tab_in_yaml"])
def test_load_raises_all_complaints_at_once(folder: str) -> None:
    with pytest.raises(InventoryError) as raised:
        load(HERE / folder)
    assert str(raised.value).endswith((HERE / folder / "expected.txt").read_text().strip().partition("/")[2])
    assert raised.value.exit_code == 2


SLIPS = yaml.load((HERE / "slips.yml").read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _cases() -> Iterator[Any]:
    """Yield a case for each slip; a slip with `each` becomes one case for each of these, as <each> in all texts."""
    for check, rows in SLIPS.items():
        for index, row in enumerate(rows):
            if "each" not in row:
                yield pytest.param(row, id=f"{check}-{index}")
            for each in row.get("each", ()):
                case = {**row, "new": row["new"].replace("<each>", each)}
                case["says"] = [line.replace("<each>", each) for line in row["says"]]
                yield pytest.param(case, id=f"{check}-{index}-{each}")


CASES = list(_cases())


@pytest.mark.parametrize("slip", CASES)
def test_every_slip_has_a_complaint(slip: dict[str, Any], check: Callable[[str], list[str]]) -> None:
    whole = {"small": SMALL, "stored": STORED}[slip.get("in", "small")]
    for change in filter(None, (slip, slip.get("also"))):
        assert change["old"] in whole
        whole = whole.replace(change["old"], change["new"], 1)
    found = [re.sub(r"^\S+:\d+: ", "", complaint) for complaint in check(whole)]
    assert len(found) == len(slip["says"]), found
    for line, beginning in zip(sorted(found), sorted(slip["says"]), strict=True):
        assert line.startswith(beginning), line


def test_every_check_has_a_slip() -> None:
    assert {check.__name__ for check in CHECKS} == set(SLIPS) - {"shape"}


def test_all_complaints_are_reported_at_once(check: Callable[[str], list[str]]) -> None:
    """A typo, a wrong type, a duplicate address and an unknown account: one check reports all four."""
    text = SMALL.replace("max_time: 4h", "max_tme: 4h").replace("gpu_slots: 8", "gpu_slots: many")
    found = check(text.replace("10.90.1.1", "10.90.2.2").replace("account: red}", "account: rde}"))
    assert [line.partition(": ")[0] + " " + line.split(": ")[2] for line in found] == [
        "inventory.yml:6 hardware.box.gpu_slots",
        "inventory.yml:9 nodes[1].address",
        "inventory.yml:14 users[0].account",
        "inventory.yml:23 partitions[1].max_tme",
    ]


def test_two_users_with_one_id_do_not_share_a_home(check: Callable[[str], list[str]]) -> None:
    text = STORED.replace("name: ann", "name: ann@a.org").replace("name: bob", "name: ann@b.org")
    assert check(text.replace("/home/{user}", "/home/{domain}/{id}")) == []
    (complaint,) = check(text.replace("/home/{user}", "/home/{id}"))
    assert "storage.home.path: /home/ann would be the directory of both ann@a.org and ann@b.org" in complaint


@pytest.mark.parametrize(("kind", "least"), [("mirror", 2), ("raidz1", 2), ("raidz2", 3), ("raidz3", 4)])
def test_a_vdev_has_at_least_the_disks_that_zfs_needs(kind: str, least: int, check: Callable[[str], list[str]]) -> None:
    def complaints_with(many: int) -> list[str]:
        vdev = f"{{kind: {kind}, disks: [{', '.join(f'/dev/disk/by-id/x{n}' for n in range(many))}]}}"
        return check(STORED.replace("at: /zfs/fast}", f"at: /zfs/fast, vdevs: [{vdev}]}}"))

    assert complaints_with(least) == []
    assert f"{kind} needs {least} disks, but has {least - 1}" in complaints_with(least - 1)[0]


@pytest.mark.parametrize(
    "name",
    [
        *["root", "daemon", "bin", "sys", "mail", "nobody", "slurm", "munge", "mysql", "sshd"],
        *["people", "docker", "sudo", "users"],
    ],
)
def test_no_user_or_lab_has_the_name_of_a_system_user(name: str, check: Callable[[str], list[str]]) -> None:
    for people in (SMALL.replace("name: ann", f"name: {name}"), re.sub(r"\bblue\b", name, SMALL)):
        (complaint,) = check(people)
        assert f"{name} is a system user or group on every node (choose another name)" in complaint


def test_a_complaint_about_a_private_key_does_not_contain_it(check: Callable[[str], list[str]]) -> None:
    # in two parts, so that searches for keys do not find it
    key = '"-----BEGIN OPENSSH PRIVATE KEY' + '-----\\nb3BlbnNz\\n"'
    (complaint,) = check(SMALL.replace("account: red}", f"account: red, keys: [{key}]}}"))
    assert "this is a private key" in complaint
    assert "b3Blb" not in complaint


def test_an_unreadable_file_does_not_hide_complaints_about_others(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text("accounts: [\n")
    (tmp_path / "b.yml").write_text(SMALL.replace("tier: 10", "teir: 10").partition("accounts:")[0] + "nodez: 1\n")
    found = [str(complaint).removeprefix(f"{tmp_path}/") for complaint in examine(tmp_path).open]
    assert found[0].startswith("a.yml:2: error: not YAML")
    assert found[1:] == ["b.yml:10: error: nodez: unknown key (did you mean nodes?)"]


def test_a_key_in_two_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text(SMALL)
    (tmp_path / "b.yaml").write_text("\nqos: {}\n")
    found = [str(complaint).removeprefix(f"{tmp_path}/") for complaint in examine(tmp_path).open]
    assert found == [f"b.yaml:2: error: qos: is defined twice; first at {tmp_path}/a.yml:15 (keep one)"]


def test_an_unreadable_file_is_a_complaint(tmp_path: Path) -> None:
    (tmp_path / "a.yml").mkdir()
    (tmp_path / "b.yml").write_bytes(b"name: \xff\n")
    (tmp_path / "c.yml").write_text("- a list\n")
    found = [str(complaint).removeprefix(f"{tmp_path}/") for complaint in examine(tmp_path).open]
    assert found[0].startswith("a.yml:1: error: cannot be read: ")
    assert found[1].startswith("b.yml:1: error: not UTF-8 text")
    assert found[2].startswith("c.yml:1: error: an inventory file is a mapping")


BOMBS = {
    "brackets": "x: " + "[" * 100_000,
    "braces": "x: " + "{a: " * 500 + "}" * 500,
    "dashes": "x:\n" + "- " * 100_000 + "1",
    "steps": "\n".join(" " * n + f"k{n}:" for n in range(2000)),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_no_text_exhausts_the_stack(bomb: str, tmp_path: Path) -> None:
    """The YAML library would end the process with no output."""
    (tmp_path / "x.yml").write_text(BOMBS[bomb])
    assert examine(tmp_path).errors


def test_an_alias_of_aliases_of_aliases_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_MOST", 1000)
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40))]
    (tmp_path / "x.yml").write_text("\n".join(lines))
    assert "an alias (*name) refers to itself" in str(examine(tmp_path).open[0])


YAML = st.text(alphabet=st.sampled_from("ab1-:[]{},&*!|>'\"#%@`?~ \t\n\\é\x00\x85"), max_size=60)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.one_of(YAML, st.text(max_size=60)))
def test_no_text_raises_a_traceback(text: str, tmp_path: Path) -> None:
    file = tmp_path / "x.yml"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    loaded = examine(file)
    assert loaded.cluster is None
    assert loaded.errors


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), text=st.sampled_from([SMALL, STORED]))
def test_no_typing_error_raises_a_traceback(data: st.DataObject, text: str, tmp_path: Path) -> None:
    """A few characters of a valid inventory removed or replaced: files or complaints, never a traceback."""
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text) - 1))
        end = min(len(text), start + data.draw(st.integers(0, 12)))
        text = text[:start] + data.draw(YAML.map(lambda text: text[:4])) + text[end:]
    file = tmp_path / "x.yml"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    loaded = examine(file)
    assert (loaded.cluster is None) == bool(loaded.errors)
    if loaded.cluster:
        assert all(files_for(loaded.cluster, node) for node in loaded.cluster.nodes.values())
