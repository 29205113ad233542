"""Singularity on nodes: its files, its temporary directory, and apt's pins for another repository."""

import os
import subprocess
from pathlib import Path

import inventories
import pytest
from inventories import cluster_at

from gpupool.cluster.model import Cluster
from gpupool.compile import files_of
from gpupool.compile.of_user import shell_word
from gpupool.compile.system.packages import packages_for
from gpupool.compile.system.singularity import PIN, SCRATCH, SETTINGS, builders_for
from gpupool.compile.template import fill
from gpupool.testbed.overlay import spec_of, stand_in

AAU = cluster_at(inventories.INVENTORY / "aau-ai-cloud")
FROM_SKYNET = "  modules: {enabled: false, src: L353}\n"


def files(cluster: Cluster, node: str, role: str = "singularity") -> dict[str, str]:
    return {file.path: file.text for file in files_of(cluster, cluster.nodes[node], role)}


def test_singularity_is_on_the_nodes_of_the_inventory_only() -> None:
    assert files(AAU, "ai-pilot") == {}
    texts = files(AAU, "nv-ai-01")
    assert set(texts) == {SETTINGS, SCRATCH}
    assert [line for line in texts[SETTINGS].splitlines() if not line.startswith("#")] == [
        "allow setuid = no",
        "mount dev = minimal",
    ]
    packages = packages_for(AAU, AAU.nodes["nv-ai-01"])
    assert {"uidmap", "squashfuse"} <= set(packages)
    assert "apptainer" not in packages, "it comes from its address"
    twin = stand_in(AAU, cgroup="v2")
    assert "squashfuse" not in packages_for(twin, twin.nodes["nv-ai-01"]), "a container cannot use it"


def test_users_who_may_build_images_are_in_the_order_of_their_uids() -> None:
    builders = builders_for(AAU, AAU.nodes["nv-ai-01"])
    assert builders == sorted(AAU.users, key=lambda name: AAU.users[name].uid)
    assert builders_for(AAU, AAU.nodes["ai-pilot"]) == []


@pytest.mark.parametrize(
    ("suite", "other", "pins"),
    [
        ("sid", False, ["release n=sid", "release n=sid", "release a=sid", "release a=sid"]),
        ("sid", True, ["release n=sid", "release a=sid"]),
        ("trixie", False, ["origin packages.example.org"]),
    ],
)
def test_one_package_comes_from_another_repository(suite: str, other: bool, pins: list[str], tmp_path: Path) -> None:
    """In the second case, Docker's toolkit comes from the same repository."""
    replaced = [
        (FROM_SKYNET, f"{FROM_SKYNET}  singularity: {{where: a40-01, repository: site}}\n"),
        ("suite: trixie", f"suite: {suite}"),
        ("repository: site, where", "where"),
        ('driver_branch: "460", cuda: "11.2"', 'driver_branch: "535", cuda: "11.2"'),
    ]
    if not other:
        replaced.append(("    toolkit: site\n", ""))
        replaced.append(("inferred: [toolkit, purge]", "inferred: [purge]"))
    cluster = inventories.changed(inventories.INVENTORY / "skynet", tmp_path, *replaced)
    text = files(cluster, "a40-01", "repositories")[PIN]
    assert [line.removeprefix("Pin: ") for line in text.splitlines() if line.startswith("Pin: ")] == pins
    first = text.splitlines()[1:4]
    assert first == ["Package: apptainer", f"Pin: {pins[0]}", "Pin-Priority: 990"]
    assert ("Package: *" in text) is (len(pins) == 4)
    assert "apptainer" in packages_for(cluster, cluster.nodes["a40-01"])
    assert PIN not in files(cluster, "clippy", "repositories")
    testbed = spec_of(stand_in(cluster, cgroup="v2"))
    (box,) = (container for container in testbed.containers if container.name == "a40-01")
    assert box.nests
    assert "apptainer" not in box.packages, "an image is made of the distribution's packages"


class Shell:
    """A login of a user whose uid is that of this process, or above 1000 by a fake id."""

    def __init__(self, folder: Path, scratch: str) -> None:
        self.folder = folder
        (folder / "id").write_text(
            '#!/bin/sh\ncase $1 in -un) echo "ann@a.org" ;; -gn) echo red ;; *) echo 2000 ;; esac\n'
        )
        # as if the directory's owner were the user of the fake id
        (folder / "stat").write_text('#!/bin/sh\n/usr/bin/stat "$@" | sed "s/^$OWNER\\$/2000/"\n')
        for name in ("id", "stat"):
            (folder / name).chmod(0o755)
        self.text = fill("singularity.sh", scratch=shell_word(f"{folder}{scratch}"))

    def variables(self, owner: int) -> str:
        environ = {"PATH": f"{self.folder}:{os.environ['PATH']}", "OWNER": str(owner)}
        text = f"set -eu\n{self.text}\nset | grep -E '^(APPTAINER|gpupool)' || :"
        done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=False, env=environ)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.replace(str(self.folder), "")


@pytest.mark.parametrize(
    ("scratch", "there"),
    [
        ("/raid/{id}", "/raid/ann"),
        ("/$(id)/{user}", "/$(id)/ann@a.org"),
        ("/s/{account}/{domain}/{user}", "/s/red/a.org/ann@a.org"),
    ],
)
def test_each_user_has_a_private_temporary_directory(scratch: str, there: str, tmp_path: Path) -> None:
    shell = Shell(tmp_path, scratch)
    expected = [
        f"APPTAINER_CACHEDIR='{there}/.singularity/cache'",
        f"APPTAINER_TMPDIR='{there}/.singularity/tmp'",
    ]
    assert shell.variables(os.getuid()).splitlines() == expected
    assert (tmp_path / f"{there[1:]}/.singularity").stat().st_mode & 0o777 == 0o700


def test_a_temporary_directory_that_another_user_created_is_not_used(tmp_path: Path) -> None:
    assert Shell(tmp_path, "/raid/{id}").variables(os.getuid() + 1) == ""
    (tmp_path / "raid/ann/.singularity/tmp").rmdir()
    (tmp_path / "raid/ann/.singularity").rmdir()
    (tmp_path / "raid/ann/.singularity").write_text("no directory")
    assert Shell(tmp_path, "/raid/{id}").variables(os.getuid()) == ""
