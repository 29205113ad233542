"""`gpupool check`, `render`, `schema` and `init` in the view of people and programs."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from inventories import SMALL, STORED, cluster_at, copied
from jsonschema import Draft202012Validator

from gpupool.cli import rendered
from gpupool.cluster.load import examine, load
from gpupool.cluster.text import read
from gpupool.compile import files_for
from gpupool.compile.slurm.accounting import entities
from gpupool.compile.slurm.sacctmgr import written

ROOT = Path(__file__).parents[3]
INVENTORY = ROOT / "inventory"
FOLDERS = sorted(path.parent.name for path in INVENTORY.glob("*/inventory.py"))


def test_check_counts_nodes_gpus_labs_and_partitions(gpupool: Callable[..., Any]) -> None:
    done = gpupool("check", INVENTORY / "skynet")
    assert done.code == 0
    lines = done.out.splitlines()
    assert [lines[0], lines[-1]] == [
        "no errors, 2 warnings, 1 accepted",
        "skynet: 52 nodes, 36 of them compute: 284 GPUs, 2056 CPUs; 14 labs, 19 partitions",
    ]


def test_check_accepts_one_file(gpupool: Callable[..., Any]) -> None:
    assert gpupool("check", SMALL / "inventory.yml").code == 0


def test_check_of_a_part_of_an_inventory_names_the_folder(gpupool: Callable[..., Any]) -> None:
    done = gpupool("check", INVENTORY / "example" / "nodes.yml")
    assert done.code == 2
    assert done.out.splitlines()[1] == (
        f"{INVENTORY / 'example' / 'nodes.yml'}:1: error: only a part of an inventory: `cluster` is missing "
        f"(use its folder: {INVENTORY / 'example'})"
    )


def test_check_prints_json(gpupool: Callable[..., Any]) -> None:
    done = gpupool("check", Path(__file__).parents[1] / "cluster" / "broken" / "typo_key", "--json")
    assert done.code == 2
    found = json.loads(done.out)
    assert (found["format_version"], found["ok"]) == (1, False)
    (complaint,) = found["complaints"]
    assert complaint.pop("file").endswith("typo_key/inventory.yml")
    assert complaint == {
        "line": 11,
        "path": "accounts[0].contributed_gpu",
        "severity": "error",
        "code": "shape",
        "accepted": None,
        "words": "unknown key",
        "hint": "did you mean contributed_gpus?",
    }
    found = json.loads(gpupool("check", SMALL, "--json").out)
    assert (found["ok"], [each["code"] for each in found["complaints"]]) == (True, ["controllers-have-a-backup"])


def test_check_reads_the_promises_of_a_site(gpupool: Callable[..., Any], tmp_path: Path) -> None:
    site = shutil.copytree(INVENTORY / "example", tmp_path / "site")
    assert gpupool("check", site).code == 0
    wrong = "name: mine\npromise: It runs\nsteps:\n  - submit: {user: u-visoin1}\n"
    (site / "rehearsal" / "mine.yml").write_text(wrong)
    done = gpupool("check", site)
    assert done.code == 2
    assert "mine.yml:4: error: steps[0].submit.user: there is no user u-visoin1" in done.out
    assert "1 error" in done.out
    assert json.loads(gpupool("check", site, "--json").out)["ok"] is False
    (site / "rehearsal" / "mine.yml").write_text(wrong.replace("promise", "pormise"))
    with (site / "cluster.yml").open("a") as file:
        file.write("acounts: []\n")
    done = gpupool("check", site)
    assert "mine.yml:2: error: pormise: unknown key (did you mean promise?)" in done.out
    assert "acounts: unknown key" in done.out


def test_words_in_brackets_are_not_markup(gpupool: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "[red]x.yml").write_text("nodes: '[bold]'\n")
    assert "[red]x.yml:1: error: nodes: must be a list, not '[bold]'" in gpupool("check", tmp_path).out


def test_render_prints_a_nodes_files(gpupool: Callable[..., Any]) -> None:
    done = gpupool("render", INVENTORY / "skynet", "sky1")
    assert done.code == 0
    assert "==> sky1:/etc/default/sackd (root:root 0644, role head) <==\n" in done.out
    cluster = cluster_at(INVENTORY / "skynet")
    for file in files_for(cluster, cluster.nodes["sky1"]):
        assert file.path.endswith(".py") or file.text in done.out
    assert "slurmdbd: " not in done.out


def test_render_shows_slurms_files_first_and_programs_last_by_name_and_size(gpupool: Callable[..., Any]) -> None:
    done = gpupool("render", INVENTORY / "example")
    headers = [line for line in done.out.splitlines() if line.startswith("==> ")]
    paths = [line.split(" (")[0].removeprefix("==> control:") for line in headers[:7]]
    assert paths == [
        *(f"/etc/slurm/{name}" for name in ("slurm.conf", "gres.conf", "cgroup.conf", "plugstack.conf")),
        *(
            "/etc/slurm/job_submit.lua",
            "/etc/slurm/slurmdbd.conf",
            "==> slurmdbd: QoS, accounts, users and their limits",
        ),
    ]
    assert headers[-1] == "==> programs of gpupool, in bytes; --file NAME prints one <=="
    names = [line.partition(":")[0] for line in headers if ":/etc/hostname " in line]
    assert names == [f"==> {name}" for name in ("a40-01", "control", "files", "login1", "rtx-01", "rtx-02")]
    size = len((ROOT / "gpupool/programs/arbiter/decide.py").read_bytes())
    assert f"\n  {size} /usr/local/lib/gpupool/arbiter/decide.py control\n" in done.out
    assert "def " not in done.out.rpartition("==> programs")[2]


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("slurm.conf", ["/etc/slurm/slurm.conf"]),
        ("/etc/slurm/s*.conf", ["/etc/slurm/slurm.conf", "/etc/slurm/slurmdbd.conf"]),
        ("decide.py", ["/usr/local/lib/gpupool/arbiter/decide.py"]),
        ("accounting.cfg", ["slurmdbd: QoS, accounts, users and their limits"]),
    ],
)
def test_render_prints_the_requested_file(gpupool: Callable[..., Any], name: str, paths: list[str]) -> None:
    done = gpupool("render", INVENTORY / "example", "--file", name)
    assert done.code == 0
    shown = re.findall(r"^==> (?:control:)?(.*) \(", done.out, re.MULTILINE)
    assert shown == paths
    if name == "decide.py":
        assert (ROOT / "gpupool/programs/arbiter/decide.py").read_text() in done.out


def test_render_of_a_missing_file_is_refused(gpupool: Callable[..., Any], tmp_path: Path) -> None:
    for where in ([], ["--out", tmp_path]):
        done = gpupool("render", SMALL, "--file", "slurm.cnof", *where)
        assert done.code == 2
        assert done.err == "no file is called slurm.cnof; without --file all files are shown\n"
    assert list(tmp_path.iterdir()) == []


def test_render_of_a_file_of_another_node_is_refused(gpupool: Callable[..., Any]) -> None:
    done = gpupool("render", SMALL, "gpu-1", "--file", "slurmdbd.conf")
    assert done.code == 2
    assert done.err.startswith("gpu-1 has no file called slurmdbd.conf, but ctl has")


def test_render_writes_the_requested_files(gpupool: Callable[..., Any], tmp_path: Path) -> None:
    assert gpupool("render", SMALL, "--file", "gres.conf", "--out", tmp_path).code == 0
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / "ctl/etc/slurm/gres.conf"]


def test_render_prints_identical_files_once(gpupool: Callable[..., Any]) -> None:
    done = gpupool("render", SMALL)
    assert done.code == 0
    assert done.out.count(":/etc/hosts (") == 1
    assert "==> gpu-[1-2]:/etc/default/slurmd (root:root 0644, role compute) <==\n" in done.out


def test_render_writes_below_a_folder(gpupool: Callable[..., Any], tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = gpupool("render", STORED, "--out", out)
    assert done.code == 0
    cluster = cluster_at(STORED)
    assert {path.name for path in out.iterdir()} == {*cluster.nodes, "accounting.cfg"}
    for node in cluster.nodes.values():
        for file in files_for(cluster, node):
            place = out / node.name / file.path[1:]
            assert place.read_text() == file.text
            assert place.stat().st_mode & 0o7777 == int(file.mode, 8), file.path
    assert (out / "accounting.cfg").read_text() == written(entities(cluster))
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert gpupool("render", STORED, "--out", out).code == 0
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_large_identical_files_are_one_file_on_disk(
    gpupool: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """/etc/hosts of n nodes on n nodes grows with the square of n; a second render changes only one of them."""
    monkeypatch.setattr(rendered, "_LARGE", 100)
    assert gpupool("render", SMALL, "--out", tmp_path).code == 0
    first, second = (tmp_path / f"gpu-{number}" / "etc" / "hosts" for number in (1, 2))
    assert first.samefile(second)
    other = copied(SMALL, tmp_path / "other", ("small.example", "other.example"))
    assert gpupool("render", other, "gpu-2", "--out", tmp_path).code == 0
    assert "other.example" in second.read_text()
    assert "other.example" not in first.read_text()


def test_render_of_an_unknown_node_is_refused(gpupool: Callable[..., Any], tmp_path: Path) -> None:
    done = gpupool("render", INVENTORY / "skynet", "sky3", "--out", tmp_path / "out")
    assert done.code == 2
    assert done.err.startswith("there is no node sky3 in skynet")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    from gpupool.cluster.schema import Inventory

    return Inventory.model_json_schema(by_alias=True)


def test_the_schema_is_printed_for_editors(gpupool: Callable[..., Any]) -> None:
    printed = json.loads(gpupool("schema").out)
    Draft202012Validator.check_schema(printed)
    assert printed["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert "required" not in printed


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_schema_accepts_every_inventory_that_check_accepts(
    folder: str, gpupool: Callable[..., Any], schema: dict[str, Any]
) -> None:
    whole = Draft202012Validator(schema)
    assert [error.message for error in whole.iter_errors(read(INVENTORY / folder).data)] == []
    printed = Draft202012Validator(json.loads(gpupool("schema").out))
    for file in sorted((INVENTORY / folder).glob("*.yml")):
        assert [error.message for error in printed.iter_errors(read(file).data)] == [], file.name


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("contributed_gpus: 10", "contributed_gpu: 10"),
        ("memory: 512G", "memory: 512"),
        ("max_time: 4h", "max_time: 4:30"),
        ("roles: [compute]", "roles: [compote]"),
        ("cpus: 64", "cpus: many"),
        ("schema: 1", "schema: 2"),
    ],
)
def test_the_schema_refuses_every_inventory_that_check_refuses(
    old: str, new: str, tmp_path: Path, schema: dict[str, Any]
) -> None:
    copied(SMALL, tmp_path, (old, new))
    assert list(Draft202012Validator(schema).iter_errors(read(tmp_path).data))
    assert examine(tmp_path).errors


def test_every_key_of_the_schema_has_a_type(schema: dict[str, Any]) -> None:
    def has_type(of: Any) -> bool:
        words = {"type", "enum", "const", "$ref"}
        return bool(words & set(of)) or any(
            has_type(part) for key in ("anyOf", "allOf", "oneOf") for part in of.get(key, [])
        )

    keys = [(f"{name}.{key}", of) for name, model in _models(schema) for key, of in model.get("properties", {}).items()]
    assert len(keys) > 200
    assert [name for name, of in keys if not has_type(of)] == []
    assert [name for name, model in _models(schema) if model.get("additionalProperties") is not False] == []


def _models(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "Inventory", schema
    yield from ((name, model) for name, model in schema["$defs"].items() if model["type"] == "object")


def test_init_writes_a_short_inventory_without_a_warning(gpupool: Callable[..., Any], tmp_path: Path) -> None:
    site = tmp_path / "my-site"
    done = gpupool("init", site)
    assert done.code == 0
    assert f"gpupool check {site}" in done.out
    assert sum(len(path.read_text().splitlines()) - 1 for path in site.glob("*.yml")) <= 60, "a screen or two"
    assert gpupool("check", site).out.splitlines()[0] == "no errors, 0 warnings"
    assert gpupool("render", site, "--out", tmp_path / "out").code == 0
    assert "reclaim-all  " in gpupool("rehearse", site, "--list").out


def test_init_full_writes_a_valid_inventory(gpupool: Callable[..., Any], tmp_path: Path) -> None:
    site = tmp_path / "my-site"
    assert gpupool("init", "--full", site).code == 0
    done = gpupool("check", site)
    assert (done.code, done.out.splitlines()[0]) == (0, "no errors, 1 warning"), (
        "a site needs a backup, the example not"
    )
    assert "slurm.backup: no backup: " in done.out
    assert gpupool("render", site, "--out", tmp_path / "out").code == 0
    assert all("#" in path.read_text() for path in site.glob("*.yml"))
    assert not list(site.rglob("__pycache__"))


def test_init_names_the_schema_by_which_an_editor_completes_keys(gpupool: Callable[..., Any], tmp_path: Path) -> None:
    site = tmp_path / "my-site"
    assert gpupool("init", "--full", site).code == 0
    files = sorted(site.rglob("*.yml"))
    assert {file.parent.name for file in files} == {"my-site", "rehearsal"}
    for file in files:
        line = re.match(r"# yaml-language-server: \$schema=(\S+)\n", file.read_text())
        assert line, file.name
        language = Draft202012Validator(json.loads((file.parent / line[1]).read_text()))
        assert [error.message for error in language.iter_errors(read(file).data)] == [], file.name
        assert list(language.iter_errors({**read(file).data, "nonsense": 1})), file.name
    # the way to update the file when a new version has more keys
    assert gpupool("schema").out == (site / ".schema.json").read_text()
    assert gpupool("schema", "--rehearsal").out == (site / "rehearsal" / ".schema.json").read_text()


def test_init_overwrites_nothing(gpupool: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "mine.yml").write_text("precious: true\n")
    done = gpupool("init", tmp_path)
    assert done.code == 2
    assert "not empty" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.yml"]
    assert gpupool("init", tmp_path / "mine.yml").code == 2
    (tmp_path / "empty").mkdir()
    assert gpupool("init", tmp_path / "empty").code == 0


def test_the_number_and_order_of_files_have_no_effect(tmp_path: Path) -> None:
    """The cluster is the same in one file or many, whatever their names."""
    data = read(INVENTORY / "skynet").data
    (tmp_path / "all.yml").write_text(yaml.safe_dump(data, sort_keys=False))
    shutil.copytree(INVENTORY / "skynet" / "wiki", tmp_path / "wiki")
    one, many = load(tmp_path), cluster_at(INVENTORY / "skynet")
    for name, node in many.nodes.items():
        assert files_for(one, one.nodes[name]) == files_for(many, node)
    assert entities(one) == entities(many)


def test_help_and_version_are_printed(gpupool: Callable[..., Any]) -> None:
    assert gpupool("--version").out.startswith("gpupool 0")
    assert "check" in gpupool("--help").out
    assert gpupool("chekc").code == 2
