"""The documents are correct: commands, roles, files, links, and the output in the README."""

import ast
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import role_index
from inventories import SMALL, changed, cluster_at
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from gpupool.cli import app
from gpupool.cluster.model import Cluster
from gpupool.cluster.schema import Inventory
from gpupool.compile import FILES, files_for, files_of
from gpupool.testbed.overlay import stand_in

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
ROLES = sorted(path.stem for path in (ROOT / "roles").glob("[!_]*.py"))
INVENTORIES = sorted(path.parent for path in (ROOT / "inventory").glob("*/inventory.py"))

# Hosts that files may name: documentation, standards, and the clusters' own. Package mirrors are not allowed.
HOSTS = (
    *("github.com", "pyinfra.com", "slurm.schedmd.com", "www.kernel.org", "json-schema.org", "www.w3.org"),
    *("keepachangelog.com", "semver.org", "repo.anaconda.com", "optimus.cc.gatech.edu", "localhost"),
    *("docs.nvidia.com", "developer.nvidia.com", "packages.debian.org", "packages.ubuntu.com"),
)


# Commands


def _commands(command: Any, name: str) -> Iterator[tuple[str, TyperCommand | TyperGroup]]:
    yield name, command
    if isinstance(command, TyperGroup):
        for word, below in command.commands.items():
            yield from _commands(below, f"{name} {word}")


COMMANDS = {
    "gpupool": get_command(app.app),
    **{key: command for name in app.COMMANDS for key, command in _commands(app.imported(name), f"gpupool {name}")},
}


def test_all_commands_are_found() -> None:
    assert {"gpupool check", "gpupool testbed up"} <= set(COMMANDS)
    assert "limit" in [param.name for param in COMMANDS["gpupool plan"].params if isinstance(param, TyperOption)]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_documented(name: str) -> None:
    if name != "gpupool":
        assert f"{name} " in TEXT or f"`{name}`" in TEXT, f"{name} is in no document"
    options = [param for param in COMMANDS[name].params if isinstance(param, TyperOption) and not param.hidden]
    missing = [option.opts[0] for option in options if not any(re.search(rf"{opt}\b", TEXT) for opt in option.opts)]
    assert not missing, f"{name}: no document says {', '.join(missing)}"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_has_help(name: str) -> None:
    assert COMMANDS[name].help or name == "gpupool testbed"
    assert [param.name for param in COMMANDS[name].params if isinstance(param, TyperOption) and not param.help] == []


# Roles


def test_every_role_has_a_page_and_every_page_a_role() -> None:
    assert sorted(page.stem for page in (DOCS / "roles").glob("[!R]*.md")) == ROLES


def test_the_deploy_and_its_index_have_every_role() -> None:
    index = (DOCS / "roles" / "README.md").read_text()
    assert sorted(re.findall(r"^\| \[(\w+)\]", index, flags=re.MULTILINE)) == ROLES
    assert index == role_index.index(), "run script/docs"


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> list[Cluster]:
    loaded = [cluster_at(path) for path in INVENTORIES]
    loaded.append(_with_a_directory_and_backups(tmp_path_factory.mktemp("directory")))
    return [*loaded, *(stand_in(cluster, cgroup="v2") for cluster in loaded if cluster.testbed)]


def _with_a_directory_and_backups(folder: Path) -> Cluster:
    (folder / "certificates").mkdir()
    (folder / "certificates" / "ca.pem").write_text("-----BEGIN CERTIFICATE-----\nM\n-----END CERTIFICATE-----\n")
    text = 'directory: {servers: ["ldaps://l.example.org"], base: "dc=example", tls_ca: ca.pem, ids: 30000-39999}\nqos:'
    backups = "slurm: {backup: {to: /srv/backup}}\nscheduler:"
    return changed(SMALL, folder, ("qos:", text), ("scheduler:", backups))


@pytest.mark.parametrize("role", ROLES)
def test_the_page_of_a_role_lists_its_files(role: str, clusters: list[Cluster]) -> None:
    nodes = [(cluster, node) for cluster in clusters for node in cluster.nodes.values()] if role in FILES else []
    files = [file for cluster, node in nodes for file in files_of(cluster, node, role)]
    page = (DOCS / "roles" / f"{role}.md").read_text()
    listed = re.findall(r"^\| `(/[^`]+)` \| (\w+), (\d{4}) \|", page, flags=re.MULTILINE)
    # each mount has a separate unit, and programs share modules in one folder
    paths = {file: re.sub(r"/[^/]+\.(mount|automount)$", r"/PATH.\1", file.path) for file in files}
    paths = {file: re.sub(r"(/lib/gpupool/gpupool/).*", r"\1", path) for file, path in paths.items()}
    assert set(listed) == {(paths[file], file.owner, file.mode) for file in files}


def test_every_file_is_installed_by_a_role() -> None:
    assert set(FILES) <= set(ROLES)


def test_keys_without_effect_exist() -> None:
    table = (DOCS / "concepts.md").read_text().partition("## Keys without effect")[2]
    rows = " ".join(row.split("|")[1] for row in table.splitlines() if row.startswith("| `"))
    keys = set(re.findall(r"`(\w+)`", rows))
    assert "storage" in keys
    assert keys <= {field.alias or name for name, field in Inventory.model_fields.items()}


# the list of nodes and their properties: the first row of the table
_OF_NODES = {"NodeName", "NodeAddr", "CPUs", "RealMemory", "Gres", "Feature", "Nodes", "Name", "Type", "File", "State"}


@pytest.mark.parametrize("inventory", INVENTORIES, ids=lambda path: path.name)
@pytest.mark.parametrize("cgroup", ["v1", "v2"])
def test_every_difference_of_a_testbed_is_in_its_table(inventory: Path, cgroup: Any) -> None:
    real = cluster_at(inventory)
    twin = stand_in(real, cgroup=cgroup)
    table = (DOCS / "testbed.md").read_text().partition("## Differences from production")[2]
    different = set()
    for node in twin.nodes.values():
        there = {file.path: _settings(file.text) for file in files_for(real, real.nodes[node.name])}
        for file in files_for(twin, node):
            if file.path.endswith((".mount", ".automount")):
                continue  # directories that all nodes share represent the exports: one row of the table
            if file.path in there:
                different |= {key for key, _ in there[file.path] ^ _settings(file.text)}
            else:
                assert file.path == "/etc/tmpfiles.d/gpupool-gpus.conf"
    # described there in other words, or part of a line that is left out as a whole
    known = {"CgroupMountpoint", "innodb_buffer_pool_size", "innodb_flush_log_at_trx_commit", "PriorityTier"}
    missing = [key for key in different - _OF_NODES - known if f"`{key}`" not in table and f"`{key}=" not in table]
    assert sorted(missing) == []


def _settings(text: str) -> set[tuple[str, str]]:
    return set(re.findall(r"(?<!\S)(\w+)=(\S+)", text))


# Links and names


def test_the_map_of_the_code_has_every_folder() -> None:
    # after a switch of branches a folder may still have its __pycache__
    folders = {path.parent for path in (ROOT / "gpupool").glob("*/*.py") if not path.parent.is_symlink()}
    page = (ROOT / "CONTRIBUTING.md").read_text()
    assert [folder.name for folder in sorted(folders) if f"`gpupool/{folder.name}/`" not in page] == []


def test_the_index_has_every_page() -> None:
    index = (DOCS / "README.md").read_text()
    assert [page.name for page in DOCS.glob("[!R]*.md") if f"({page.name})" not in index] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_have_a_target(page: Path) -> None:
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)):
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            broken.append(link)
    assert broken == []


def _anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_tests_that_documents_name_exist() -> None:
    there = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(), flags=re.MULTILINE)
    }
    named = re.findall(r"`(test_\w+)(…?)`", TEXT)
    missing = [
        name for name, more in named if not any(test.startswith(name) if more else test == name for test in there)
    ]
    assert missing == []


def _tracked() -> Iterator[tuple[str, str]]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in names.rstrip("\0").split("\0"):
        path = ROOT / name
        if path.is_file() and not path.is_symlink():
            yield name, path.read_text(encoding="utf-8", errors="replace")


def test_no_file_names_a_directory_of_a_developers_machine() -> None:
    # in two parts, or this file would contain it
    ours = re.compile("/" + r"work/|/Users/\w+|/home/[a-z]+/(?:src|code|git|projects)\b")
    assert [(name, found[0]) for name, text in _tracked() if (found := ours.findall(text))] == []


def test_no_file_names_a_package_mirror() -> None:
    found = {
        (name, host)
        for name, text in _tracked()
        if not name.startswith(("inventory/", "LICENSE", "tests/promises.tsv"))
        for host in re.findall(r"https?://([\w.-]+)", text)
        if host not in HOSTS and not re.search(r"(^|\.)example\.(org|com)$", host)
    }
    assert found == set(), "a package mirror must not be named; a host of documentation belongs in HOSTS"


def test_the_lock_names_no_index() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    assert not re.search(r"--(extra-)?index-url|--find-links|://", lock)
    assert "--hash=sha256:" in lock


def test_code_avoids_known_faults_of_pyinfra() -> None:
    code = [path for name in ("gpupool", "roles", "deploys") for path in sorted((ROOT / name).rglob("*.py"))]
    assert [path.name for path in code if re.search(r"\bserver\.mount\b", path.read_text())] == []
    loops = [node for node in ast.walk(ast.parse((ROOT / "deploys/site.py").read_text())) if isinstance(node, ast.For)]
    assert loops == [], "roles in a plain loop stand at one place of the deploy"


def test_text_becomes_files_without_pyinfra_and_without_sockets() -> None:
    code = (
        "import socket, sys; from pathlib import Path; socket.socket = None\n"
        "from gpupool.cluster.load import load; from gpupool.compile import files_for\n"
        "cluster = load(Path(sys.argv[1])); [files_for(cluster, node) for node in cluster.nodes.values()]\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules} & {'pyinfra', 'paramiko', 'gevent'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT / "inventory" / "example")], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


def test_facts_and_operations_import_no_cluster() -> None:
    files = [path for name in ("facts", "operations") for path in (ROOT / "gpupool" / name).rglob("*.py")]
    assert [file.name for file in files if re.search(r"gpupool\.(cluster|compile)\b", file.read_text())] == []


# Output in the README


def _shown() -> Iterator[tuple[str, str]]:
    """Return (command, output) of the README's blocks that need no cluster; output is "" if none is shown."""
    for block in re.findall(r"^```console\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL):
        for part in block.split("$ ")[1:]:
            command, _, output = part.partition("\n")
            yield command, output


def test_the_output_in_the_readme_is_that_of_the_commands(tmp_path: Path) -> None:
    (tmp_path / "inventory").symlink_to(ROOT / "inventory")
    shown = list(_shown())
    assert {"check", "render", "init"} <= {command.split()[1] for command, _ in shown}
    for command, output in shown:
        name, *words = shlex.split(command)
        assert name == "gpupool"
        start = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from gpupool.cli import main; main()"
        env = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "200"}
        done = subprocess.run(
            [sys.executable, "-c", start, *words], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        if output:
            assert done.stdout == output, command


# Generated pages


def test_the_page_of_promises_is_up_to_date() -> None:
    made = subprocess.run(
        [sys.executable, str(ROOT / "script" / "promises.py")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    assert (DOCS / "requirements-status.md").read_text() == made.stdout, "run script/docs"


def test_the_changelog_has_the_version() -> None:
    from gpupool import __version__

    first = re.search(r"^## (?!\[Unreleased\])(.*)$", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert first is not None
    assert __version__ in first[1]
