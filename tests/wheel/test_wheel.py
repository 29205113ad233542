"""The built wheel, installed alone in a fresh environment and run from an empty folder."""

import json
import re
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml
from wheels import OURS, ROOT, Built, Installed, build, install, interpreter

PYTHONS = sorted({OURS, "3.11", "3.13"})
# folders at the top of the repository that a wheel must have inside the package
FOLDERS = {"roles": "roles", "deploys": "deploys", "templates": "templates", "inventory/example": "example"}


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session", params=PYTHONS)
def installed(request: pytest.FixtureRequest, built: Built, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    python = interpreter(request.param)
    if python is None:
        pytest.skip(f"there is no Python {request.param} on this machine")
    return install(built.wheel, python, tmp_path_factory.mktemp(f"python{request.param}-"))


@pytest.fixture(scope="session")
def site(installed: Installed) -> Installed:
    """The same with an inventory that `gpupool init` wrote."""
    installed.good("gpupool", "init", "my-site")
    return installed


def in_repository(folder: str) -> set[str]:
    """Return git's files there, relative to the folder."""
    output = subprocess.run(["git", "ls-files", folder], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {line.removeprefix(f"{folder}/") for line in output.splitlines()}


def test_the_wheel_contains_the_folders_at_the_top_of_the_repository(built: Built) -> None:
    names = zipfile.ZipFile(built.wheel).namelist()
    for folder, inside in FOLDERS.items():
        prefix = f"gpupool/{inside}/"
        there = {name.removeprefix(prefix) for name in names if name.startswith(prefix)}
        assert there == in_repository(folder), folder
    assert len(names) == len(set(names)), "a file is in it twice"


def test_the_wheel_contains_every_shell_script_that_is_sent_to_a_node(built: Built) -> None:
    names = zipfile.ZipFile(built.wheel).namelist()
    assert {name for name in names if name.endswith(".sh")} == {
        f"gpupool/{name}" for name in in_repository("gpupool") if name.endswith(".sh")
    }


def test_the_wheel_contains_every_table_of_slurms_keys(built: Built) -> None:
    names = zipfile.ZipFile(built.wheel).namelist()
    tables = {name for name in in_repository("gpupool") if name.endswith(".tsv")}
    assert "slurm/keys/own.tsv" in tables
    assert {name for name in names if name.endswith(".tsv")} == {f"gpupool/{name}" for name in tables}


def test_the_source_distribution_contains_each_folder_once(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        members = archive.getmembers()
    names = {member.name.partition("/")[2] for member in members}
    assert not [member.name for member in members if member.issym()]
    for folder, inside in FOLDERS.items():
        assert {name for name in names if name.startswith(f"{folder}/")} == {
            f"{folder}/{name}" for name in in_repository(folder)
        }
        assert not [name for name in names if name.startswith(f"gpupool/{inside}/")]


def test_neither_contains_tests_caches_or_other_top_level_entries(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        sources = archive.getnames()
    names = zipfile.ZipFile(built.wheel).namelist()
    assert not [
        path for path in [*sources, *names] if re.search(r"(^|/)(tests|molecule|__pycache__|\.venv)(/|$)|\.pyc$", path)
    ]
    tops = {re.sub(r"^gpupool-[^/]*\.(?=data|dist-info)", "", path.split("/")[0]) for path in names}
    assert tops == {"gpupool", "data", "dist-info"}


def test_manual_pages_are_beside_the_command(installed: Installed) -> None:
    folder = installed.bin.parent / "share" / "man" / "man1"
    assert {path.name for path in folder.glob("gpupool*")} == in_repository("man")


def test_the_schema_of_json_has_its_descriptions(installed: Installed) -> None:
    """They are docstrings, which pydantic reads from the source."""
    schema = json.loads(installed.good("gpupool", "schema", "--json", "plan"))
    assert schema["properties"]["changed"]["description"] == "Whether at least one node has a change."


def test_only_gpupool_is_importable(installed: Installed) -> None:
    python = installed.bin / "python"
    installed.good(python, "-c", "import gpupool.roles.base, gpupool.testbed.spec, gpupool.engine.drive")
    for name in ("roles", "deploys", "templates", "inventory", "molecule", "tests", "start", "example"):
        assert "ModuleNotFoundError" in installed.run(python, "-c", f"import {name}").stderr, name


def test_nothing_is_imported_from_the_repository(installed: Installed) -> None:
    code = "import gpupool, gpupool.run.runner as r; print(gpupool.__file__, r.SITE, r.SITE.is_file())"
    package, deploy, there = installed.good(installed.bin / "python", "-c", code).split()
    assert there == "True"
    assert all(Path(path).is_relative_to(installed.bin.parent) for path in (package, deploy))


def test_plain_pyinfra_finds_our_connector(installed: Installed) -> None:
    code = "from pyinfra.api.connectors import get_all_connectors; print(get_all_connectors()['pool'].__name__)"
    assert installed.good(installed.bin / "python", "-c", code).strip() == "PoolSSH"


def test_init_writes_a_valid_inventory(site: Installed) -> None:
    there = site.home / "my-site"
    files = {str(path.relative_to(there)) for path in there.rglob("*") if path.is_file()}
    assert files == in_repository("gpupool/start") | {".schema.json"}
    assert json.loads(site.good("gpupool", "check", "my-site", "--json"))["ok"]


def test_init_full_writes_the_example(site: Installed) -> None:
    there = site.home / "reference"
    site.good("gpupool", "init", "--full", "reference")
    files = {str(path.relative_to(there)) for path in there.rglob("*") if path.is_file()}
    # the reasons to accept warnings are the example's
    expected = in_repository("inventory/example") - {"accepted.yml"}
    assert files == expected | {".schema.json", "rehearsal/.schema.json"}
    assert json.loads(site.good("gpupool", "check", "reference", "--json"))["ok"]


def test_init_does_not_write_into_a_folder_with_files(site: Installed) -> None:
    again = site.run("gpupool", "init", "my-site")
    assert again.returncode == 2
    assert "Traceback" not in again.stderr


def test_the_ci_of_a_site_installs_the_wheel_and_checks_the_inventory(
    installed: Installed, built: Built, tmp_path: Path
) -> None:
    """By the steps of the job `check`, of GitHub and of GitLab."""
    folder = tmp_path / "our-cluster"
    installed.good("gpupool", "init", "--repository", folder)
    jobs = yaml.safe_load((folder / ".github" / "workflows" / "gpupool.yml").read_text())["jobs"]
    steps = [step["run"] for step in jobs["check"]["steps"] if "run" in step]
    assert steps == yaml.safe_load((folder / ".gitlab-ci.yml").read_text())["check"]["script"]
    versions = installed.bin.parents[1] / "constraints.txt"
    in_ci = Installed(installed.bin, folder, {"GPUPOOL_WHEEL": str(built.wheel), "PIP_CONSTRAINT": str(versions)})
    for step in steps:
        in_ci.good("sh", "-euc", step)
    assert (folder / ".venv" / "bin" / "gpupool").exists()


def test_render_writes_every_file(site: Installed) -> None:
    site.good("gpupool", "render", "my-site", "--out", "files")
    assert "ClusterName=example" in (site.home / "files" / "control" / "etc/slurm/slurm.conf").read_text()
    assert (site.home / "files" / "accounting.cfg").exists()


def test_schema_and_version(installed: Installed) -> None:
    assert json.loads(installed.good("gpupool", "schema"))["properties"]["cluster"]
    assert re.fullmatch(r"gpupool \d+\.\d+\.\d+\S*\n", installed.good("gpupool", "--version"))
