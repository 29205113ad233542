"""Users' software is installed: modules with their commands, conda, the pages of the cluster."""

import shlex

import pytest
from testinfra.host import Host

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.system.conda import installer_for
from gpupool.compile.system.modules import modules_for
from gpupool.compile.system.web import pages, serves
from gpupool.verify.scope import not_applicable, only_if

#: For nodes without curl: prints the first line of the answer of the server $0 for the path $1.
_GET = r"""exec 3<>"/dev/tcp/$0/80" && printf 'GET %s HTTP/1.0\r\nHost: %s\r\n\r\n' "$1" "$0" >&3 && head -n 1 <&3"""


@pytest.mark.manages("modules")
def test_modules_can_be_loaded(cluster: Cluster, node: Node, host: Host) -> None:
    wrong = []
    modules = modules_for(cluster, node)
    if not modules:
        not_applicable()
    for module in modules:
        looks = [f"command -v {name} >/dev/null || echo {name}" for name in map(shlex.quote, module.provides)]
        script = "\n".join([f"module load {shlex.quote(module.name)} || echo not loaded", *looks])
        done = host.run(f"bash -lc {shlex.quote(script)}")
        if missing := done.stdout.split("\n")[:-1] if done.rc == 0 else ["not loaded"]:
            wrong.append(f"{module.name}: {', '.join(missing)}")
    assert not wrong, f"modules without what they provide: {'; '.join(wrong)}"


@pytest.mark.manages("conda")
def test_conda_runs(cluster: Cluster, node: Node, host: Host) -> None:
    installer = installer_for(cluster, node)
    if installer is None:
        not_applicable()
    done = host.run(f"{installer.prefix}/bin/conda --version")
    assert done.rc == 0, done.stderr.strip()


@pytest.mark.manages("web")
@pytest.mark.role("web")
def test_pages_are_served(cluster: Cluster, node: Node, host: Host) -> None:
    only_if(serves(cluster, node))
    for name in pages(cluster):
        answer = host.run(f"timeout 30 bash -c {shlex.quote(_GET)} {node.fqdn} /wiki/{name}").stdout.strip()
        assert answer.split()[1:2] == ["200"], f"/wiki/{name}: {answer or 'no answer'}"
