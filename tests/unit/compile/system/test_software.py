"""Software for users: module files, conda, variables of logins, pages; and versions of packages."""

import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from inventories import INVENTORY, cluster_at
from lupa import lua54

from gpupool.cluster.model import Cluster
from gpupool.cluster.schema.modules import Conda, CondaInstaller, Module
from gpupool.compile import files_for, files_of, links_for
from gpupool.compile.system import conda, login, modules
from gpupool.compile.system.packages import packages_for, versions_for
from gpupool.compile.system.web import pages

INSTALLER = CondaInstaller(url="https://a.example.org/conda.sh", sha256="ab" * 32, where="@compute")


def calls(text: str) -> list[tuple[str, ...]]:
    """Return the calls of Lmod's functions when a module file is run."""
    lua = lua54.LuaRuntime()
    recorded: list[tuple[str, ...]] = []
    for name in ("whatis", "help", "conflict", "depends_on", "prepend_path", "setenv"):
        lua.globals()[name] = lambda *values, name=name: recorded.append((name, *values))
    lua.execute(text)
    return [call for call in recorded if call[0] not in ("whatis", "help")]


@pytest.fixture(scope="module")
def dumont() -> Cluster:
    return cluster_at(INVENTORY / "santos-dumont")


@pytest.mark.promise("SDU-033", "SDU-035", "SDU-056")
def test_santos_dumont_has_the_modules_of_its_guide(dumont: Cluster) -> None:
    for name in ("login", "sdumont4000"):
        files = {file.path: file.text for file in files_of(dumont, dumont.nodes[name], "modules")}
        assert calls(files[f"{modules.MODULES}/cudnn/8.2_cuda-11.1.lua"]) == [
            ("prepend_path", "LD_LIBRARY_PATH", "/opt/sdumont/cudnn/8.2_cuda-11.1/lib64"),
            ("prepend_path", "CPATH", "/opt/sdumont/cudnn/8.2_cuda-11.1/include"),
            ("setenv", "CUDNN_HOME", "/opt/sdumont/cudnn/8.2_cuda-11.1"),
        ]
        assert {
            f"{modules.MODULES}/{module}.lua" for module in ("gcc/7.4", "python/3.9.1", "deepl/deeplearn-py3.7")
        } < set(files)
        assert "lmod" in packages_for(dumont, dumont.nodes[name])
    assert not files_of(dumont, dumont.nodes["sdumont-fs"], "modules")


def test_a_module_file_has_the_settings_of_the_inventory(dumont: Cluster) -> None:
    module = Module(
        name="a/1",
        about='says "x"\\',
        prefix="/opt/a",
        prepend={"PATH": ("bin", ".", "/usr/local/a")},
        set={"A": "{prefix}/x]]$(b)"},
        needs=("b", "c/2"),
        conflicts=("d",),
    )
    assert calls(modules.module_file(dumont, module)) == [
        ("conflict", "d"),
        ("depends_on", "b"),
        ("depends_on", "c/2"),
        # the last prepended value comes first
        ("prepend_path", "PATH", "/usr/local/a"),
        ("prepend_path", "PATH", "/opt/a"),
        ("prepend_path", "PATH", "/opt/a/bin"),
        ("setenv", "A", "/opt/a/x]]$(b)"),
    ]


@pytest.mark.promise("GCP-022", "SKY-181")
@pytest.mark.parametrize("name", ["gcp-slurm", "skynet"])
def test_where_users_bring_their_software_none_is_installed_for_all(name: str) -> None:
    cluster = cluster_at(INVENTORY / name)
    for node in cluster.nodes.values():
        assert not [*modules.files(cluster, node), *conda.files(cluster, node)]
        wanted = packages_for(cluster, node)
        assert not {"lmod", "conda", "python3-torch", "python3-tensorflow"} & set(wanted)


def test_another_installer_of_conda_has_another_directory(skynet: Cluster) -> None:
    def with_installer(sha256: str) -> dict[str, str]:
        installer = INSTALLER.model_copy(update={"sha256": sha256})
        software = skynet.software.model_copy(update={"conda": Conda(installer=installer)})
        cluster = replace(skynet, software=software)
        assert "/opt/conda" not in links_for(cluster, cluster.nodes["sky1"])
        assert "curl" in packages_for(cluster, cluster.nodes["clippy"])
        return {path: target for path, target in links_for(cluster, cluster.nodes["clippy"]).items() if "conda" in path}

    assert with_installer("ab" * 32) == {"/opt/conda": "/opt/conda-abababababab"}
    assert with_installer("cd" * 32) == {"/opt/conda": "/opt/conda-cdcdcdcdcdcd"}


def test_variables_of_logins_are_filled_in_for_each_user(skynet: Cluster, tmp_path: Path) -> None:
    values = {"SCRATCH": "/scratch/{account}/{user}", "WORDS": "a $(touch left) `x` 'y' \"z\" $HOME"}
    cluster = replace(skynet, environment=skynet.environment.model_copy(update={"login": values}))
    file = next(iter(login.files(cluster, cluster.nodes["sky1"])))
    assert file.path == login.PROFILE
    who = "id() { case $1 in -u) echo 20001;; -un) echo u-x;; -gn) echo x-lab;; esac; }\n"
    show = 'printf "%s\\n" "$SCRATCH" "$WORDS" "${gpupool_user-none}"'
    done = subprocess.run(["sh", "-euc", f"{who}{file.text}{show}"], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.splitlines() == ["/scratch/x-lab/u-x", values["WORDS"], "none"]
    assert list(tmp_path.iterdir()) == []
    assert not [*login.files(cluster, cluster.nodes["multivac"])]


@pytest.mark.promise("SKY-026", "SKY-027")
def test_packages_for_all_nodes_may_have_a_version(skynet: Cluster) -> None:
    packages = {"all": ("git", "jq=1.7.1-6"), "head": ("tmux",)}
    cluster = replace(skynet, software=skynet.software.model_copy(update={"packages": packages}))
    for node in cluster.nodes.values():
        assert {"git", "jq"} <= set(packages_for(cluster, node))
        assert versions_for(cluster, node) == {"jq": "1.7.1-6"}
        file = {file.path: file.text for file in files_for(cluster, node)}["/etc/apt/preferences.d/gpupool-packages"]
        assert file.endswith("\nPackage: jq\nPin: version 1.7.1-6\nPin-Priority: 1001\n")
        assert ("tmux" in packages_for(cluster, node)) == node.has("head")


class Links(HTMLParser):
    """The links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, _: str, attributes: list[tuple[str, str | None]]) -> None:
        self.links += [value for key, value in attributes if key == "href" and value]


@pytest.mark.promise("SKY-117")
def test_the_wiki_has_the_pages_of_the_inventory_and_the_short_names(skynet: Cluster) -> None:
    served = pages(skynet)
    assert set(served) == {"index.html", "skynet.html", "slurm-aliases.html"}
    assert "alias sqme=" in served["slurm-aliases.html"]
    for text in served.values():
        assert {f"{link}.html" for link in Links(text).links} <= set(served)
    own = replace(skynet, attached={"wiki/index.html": "mine\n", "wiki/a.txt": "x"})
    assert pages(own)["index.html"] == "mine\n"
    assert set(pages(own)) == {"index.html", "a.txt", "slurm-aliases.html"}


def test_only_web_nodes_with_a_wiki_have_a_web_server(skynet: Cluster) -> None:
    without = replace(skynet, tools=tuple(tool for tool in skynet.tools if tool.name != "wiki"))
    for name, serves in {"optimus": True, "sky1": False}.items():
        assert bool(files_of(skynet, skynet.nodes[name], "web")) is serves
        assert ("nginx" in packages_for(skynet, skynet.nodes[name])) is serves
        assert not files_of(without, without.nodes[name], "web")


STAND_INS = {
    "docker": 'printf "%s\\n" "$@" > asked',
    "srun": 'while [ "$1" != -u ]; do shift; done; shift; exec "$@"',
}


@pytest.mark.promise("ARA-042", "ARA-044")
@pytest.mark.parametrize(
    ("name", "kept"),
    [("myjob", "myproject/results"), ("train_model", "background_job/models"), ("startjupyter.sh", "")],
)
def test_arandus_examples_give_docker_the_gpu_of_the_job_and_keep_results(name: str, kept: str, tmp_path: Path) -> None:
    cluster = cluster_at(INVENTORY / "arandu")
    files = files_of(cluster, cluster.having("head")[0], "tools")
    text = next(file.text for file in files if file.path.endswith(f"/examples/{name}"))
    for program, does in STAND_INS.items():
        (tmp_path / program).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / program).chmod(0o755)
    home, output = tmp_path / "home", tmp_path / "output"
    (home / kept).mkdir(parents=True)
    if kept:
        (output / "u-x" / kept).mkdir(parents=True)
        (output / "u-x" / kept / "made").touch()
    text = text.replace("#!/bin/bash -l", "#!/bin/bash").replace("/output/", f"{output}/")
    env = {"HOME": str(home), "USER": "u-x", "CUDA_VISIBLE_DEVICES": "2", "PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", text], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[asked.index("--gpus") + 1] == '"device=2"'
    assert "-w" not in asked[asked.index("nvcr.io/nvidia/pytorch:22.11-py3") :]
    assert not kept or (home / kept / "made").is_file()
