"""Docker on nodes: its files, and the purge, run for real with a fake docker that only has a list of containers."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import inventories
import pytest
from inventories import cluster_at

from gpupool.cluster.model import Cluster
from gpupool.cluster.schema.containers import Image
from gpupool.compile import files_of
from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.system.docker import GPUS_DROP_IN, PURGE, PURGE_TIMER, SETTINGS, SUDO, settings
from gpupool.compile.system.packages import packages_for
from gpupool.compile.system.people import managed_groups, people_for
from gpupool.compile.template import fill
from gpupool.distributions.tables import distribution
from gpupool.testbed.overlay import stand_in

ARANDU = cluster_at(inventories.INVENTORY / "arandu")
# a fake docker with containers and images as lines of files: id, name, status, image, ended, created, image's id
DOCKER = r"""#!/bin/sh
cd "$STATE" || exit 9
case $1 in
ps)
  case $* in *status=*) grep -E '\|(exited|created|dead)\|' containers ;; *) cat containers ;; esac | cut -d '|' -f 1
  ;;
inspect)
  eval "id=\${$#}"
  line=$(grep "^$id|" containers) || exit 1
  IFS='|' read -r id name status image ended created uses <<EOF
$line
EOF
  case $3 in '{{.Image}}') echo "$uses" ;; *) echo "/$name|$image|$ended|$created" ;; esac
  ;;
rm) eval "id=\${$#}"; [ "$id" != "$KEEPS" ] || { echo 'Error: it runs' >&2; exit 1; }
  echo "$*" >> done; sed -i "/^$id|/d" containers ;;
images) cut -d '|' -f 1 images ;;
image) eval "id=\${$#}"; grep "^$id|" images | cut -d '|' -f 2- ;;
rmi) echo "$*" >> done ;;
esac
"""


def ago(hours: int) -> str:
    done = subprocess.run(
        ["date", "-u", "-d", f"{hours} hours ago", "+%Y-%m-%dT%H:%M:%S.123456789Z"],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


NEVER = "0001-01-01T00:00:00Z"


class Purge:
    """The program in a folder, with containers and images for it."""

    def __init__(self, folder: Path, cluster: Cluster, images_older_than: int | None) -> None:
        self.folder = folder
        docker = cluster.software.docker
        assert docker
        assert docker.purge
        purge = docker.purge.model_copy(update={"images_older_than": images_older_than})
        (folder / "purge").write_text(fill("docker-purge", cluster=cluster, purge=purge, kept=["kept:1"]))
        (folder / "docker").write_text(DOCKER)
        (folder / "docker").chmod(0o755)
        self.containers()

    def containers(self, *lines: str, images: tuple[str, ...] = ()) -> None:
        (self.folder / "containers").write_text("".join(f"{line}\n" for line in lines))
        (self.folder / "images").write_text("".join(f"{line}\n" for line in images))

    def run(self, *arguments: str, keeps: str = "") -> subprocess.CompletedProcess[str]:
        environ = {"PATH": f"{self.folder}:{os.environ['PATH']}", "STATE": str(self.folder), "KEEPS": keeps}
        return subprocess.run(
            ["sh", self.folder / "purge", *arguments], capture_output=True, text=True, check=False, env=environ
        )

    @property
    def commands(self) -> list[str]:
        path = self.folder / "done"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def purge(skynet: Cluster, tmp_path: Path) -> Purge:
    return Purge(tmp_path, skynet, None)


CONTAINERS = (
    f"aaa|old_one|exited|torch|{ago(30)}|{ago(99)}|i1",
    f"bbb|young|exited|torch|{ago(2)}|{ago(99)}|i1",
    f"ccc|job|running|torch|{ago(40)}|{ago(99)}|i2",
    f"ddd|never_started|created|torch|{NEVER}|{ago(25)}|i1",
    f"eee|just_created|created|torch|{NEVER}|{ago(1)}|i1",
    f"fff|paused|paused|torch|{NEVER}|{ago(99)}|i1",
)


@pytest.mark.promise("SKY-180")
def test_only_containers_that_ended_long_ago_are_removed(purge: Purge) -> None:
    purge.containers(*CONTAINERS)
    done = purge.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert purge.commands == ["rm --volumes aaa", "rm --volumes ddd"]
    assert done.stdout.splitlines() == [
        "removed container old_one of torch, 30 h old",
        "removed container never_started of torch, 25 h old",
    ]


@pytest.mark.promise("SKY-180")
def test_with_dry_containers_are_only_listed(purge: Purge) -> None:
    purge.containers(*CONTAINERS)
    done = purge.run("--dry")
    assert done.stdout.startswith("would remove container old_one of torch, 30 h old\n")
    assert (done.returncode, purge.commands) == (0, [])
    assert purge.run("--force").returncode == 2


def test_a_container_that_cannot_be_removed_is_named_and_the_others_are_removed(purge: Purge) -> None:
    purge.containers(*CONTAINERS)
    done = purge.run(keeps="aaa")
    assert done.returncode == 1
    assert done.stderr == "not removed: container old_one of torch, 30 h old: Error: it runs\n"
    assert purge.commands == ["rm --volumes ddd"]


def test_if_docker_does_not_answer_no_container_is_removed(purge: Purge) -> None:
    (purge.folder / "docker").write_text("#!/bin/sh\necho Cannot connect >&2\nexit 1\n")
    done = purge.run()
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "Cannot connect\n")


@pytest.mark.promise("SKY-180")
def test_unused_images_are_removed_by_the_day_of_their_download(skynet: Cluster, tmp_path: Path) -> None:
    purge = Purge(tmp_path, skynet, 86400)
    images = (
        f"i1|{ago(99)}|{ago(9999)}|torch:1",
        f"i2|{ago(99)}|{ago(9999)}|used:1",
        f"i3|{ago(99)}|{ago(9999)}|tf:1 tf:2",
        f"i4|{ago(1)}|{ago(9999)}|fresh:1",
        f"i5|{NEVER}|{ago(99)}|",
        f"i6|{ago(99)}|{ago(9999)}|kept:1",
    )
    purge.containers(f"ccc|job|running|used|{NEVER}|{ago(99)}|i2", images=images)
    done = purge.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert purge.commands == ["rmi torch:1", "rmi tf:1 tf:2", "rmi i5"]


# Files


def paths(cluster: Cluster, node: str) -> dict[str, str]:
    return {file.path: file.text for file in files_of(cluster, cluster.nodes[node], "docker")}


def test_docker_is_on_the_nodes_of_the_inventory_only(skynet: Cluster) -> None:
    assert paths(skynet, "sky1") == {}
    files = paths(skynet, "a40-01")
    assert {SETTINGS, PURGE, PURGE_TIMER, GPUS_DROP_IN} <= set(files)
    assert SUDO not in files
    assert {"docker.io", "docker-cli", "nvidia-container-toolkit"} <= set(packages_for(skynet, skynet.nodes["a40-01"]))
    assert "OnUnitActiveSec=3600s" in files[PURGE_TIMER]
    document = json.loads(files[SETTINGS])
    assert document["live-restore"] is True
    assert document["default-address-pools"] == [{"base": "172.29.0.0/16", "size": 24}]


def test_with_fake_gpus_there_is_no_toolkit(skynet: Cluster) -> None:
    testbed = stand_in(skynet, cgroup="v1")
    node = testbed.nodes["a40-01"]
    assert "nvidia-container-toolkit" not in packages_for(testbed, node)
    assert not {"runtimes", "features"} & set(json.loads(paths(testbed, "a40-01")[SETTINGS]))


@pytest.mark.promise("SKY-180")
def test_no_purge_removes_an_image_that_the_inventory_downloads(skynet: Cluster) -> None:
    assert skynet.software.docker
    assert skynet.software.docker.purge
    purge = skynet.software.docker.purge.model_copy(update={"images_older_than": 86400})
    docker = skynet.software.docker.model_copy(update={"purge": purge})
    images = [Image(source="torch:1", runtime="docker"), Image(source="docker://torch:2", at="/raid/torch.sif")]
    cluster = replace(skynet, software=skynet.software.model_copy(update={"docker": docker, "images": images}))
    text = paths(cluster, "a40-01")[PURGE]
    assert "*' torch:1 '*) continue ;;" in text
    assert "torch:2" not in text


@pytest.mark.promise("ARA-043")
def test_sudo_is_for_docker_only() -> None:
    assert paths(ARANDU, "dgx01")[SUDO].splitlines()[1:] == ["%docker ALL=(root) NOPASSWD: /usr/bin/docker"]
    assert "sudo" in packages_for(ARANDU, ARANDU.nodes["dgx01"])


def test_members_are_the_named_users_and_accounts(skynet: Cluster) -> None:
    assert skynet.software.docker

    def members(of: tuple[str, ...] | str, node: str, enabled: bool = True) -> set[str]:
        docker = skynet.software.docker.model_copy(update={"members": of, "enabled": enabled})  # type: ignore[union-attr]
        cluster = replace(skynet, software=skynet.software.model_copy(update={"docker": docker}))
        assert "docker" in managed_groups(cluster)
        return {user.name for user in people_for(cluster, cluster.nodes[node]) if "docker" in user.groups}

    assert members("all", "a40-01") == set(skynet.users)
    assert members("all", "sky1") == set()
    assert members("all", "a40-01", enabled=False) == set()
    assert members(("u-kira1",), "a40-01") == {"u-kira1"}
    lab = {user.name for user in skynet.users.values() if user.account == "hays-lab"}
    assert members(("u-kira1", "hays-lab"), "a40-01") == {"u-kira1"} | lab


def test_bookworms_package_of_the_daemon_includes_the_command(skynet: Cluster) -> None:
    node = skynet.nodes["a40-01"]
    assert "docker-cli" in packages_for(skynet, node)
    assert "docker-cli" not in packages_for(skynet, replace(node, system=distribution("bookworm")))


def test_the_daemon_knows_the_toolkit(skynet: Cluster) -> None:
    assert skynet.software.docker
    values = settings(skynet, skynet.nodes["a40-01"], skynet.software.docker)
    assert values["runtimes"]["nvidia"]["path"] == "nvidia-container-runtime"
    assert values["features"] == {"cdi": True}


def test_jobs_have_the_group_that_their_node_gives_them(skynet: Cluster) -> None:
    line = "LaunchParameters=disable_send_gids"
    assert line in slurm_conf(skynet).splitlines()
    none = replace(skynet, software=skynet.software.model_copy(update={"docker": None}))
    assert line not in slurm_conf(none).splitlines()
