"""Images that nodes download: which nodes download which, and the program, run for real with fake commands."""

import os
import subprocess
from pathlib import Path

import inventories
import pytest
from inventories import cluster_at

from gpupool.cluster.model import Cluster
from gpupool.compile import files_of
from gpupool.compile.system.images import LIST, PROGRAM, images_for
from gpupool.compile.template import fill

AAU, ARANDU = (cluster_at(inventories.INVENTORY / name) for name in ("aau-ai-cloud", "arandu"))
SINGULARITY = """#!/bin/sh
echo "singularity $* cache=$APPTAINER_CACHEDIR" >> "$STATE/done"
case $4 in */broken) exit 1 ;; esac
echo "image of $4" > "$3"
"""
DOCKER = """#!/bin/sh
case $1 in
image) [ "$3" = here:1 ] ;;
pull) echo "docker $*" >> "$STATE/done"; [ "$3" != away:1 ] ;;
esac
"""


class Images:
    """The program in a folder that only root can change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in (("singularity", SINGULARITY), ("docker", DOCKER)):
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        # folders of tests are in a world-writable folder with the sticky bit
        (folder / "images").write_text(fill("images", images="/none"))

    def run(self, *rows: tuple[str, str, str]) -> subprocess.CompletedProcess[str]:
        lines = ["# a comment", *("\t".join(row) for row in rows)]
        (self.folder / "list").write_text("\n".join(lines) + "\n")
        environ = {"PATH": f"{self.folder}:{os.environ['PATH']}", "STATE": str(self.folder)}
        command = ["sh", self.folder / "images", self.folder / "list"]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environ)

    @property
    def commands(self) -> list[str]:
        path = self.folder / "done"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def images(tmp_path: Path) -> Images:
    if os.getuid():
        pytest.skip("needs root: it refuses directories of users")
    return Images(tmp_path)


@pytest.mark.promise("AAU-043")
def test_an_image_is_downloaded_once_and_readable_for_all(images: Images) -> None:
    file = images.folder / "share/images/a.sif"
    row = ("singularity", "docker://site/a:1", str(file))
    done = images.run(row)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"fetched {file} from docker://site/a:1\n"
    assert file.read_text() == "image of docker://site/a:1\n"
    assert file.stat().st_mode & 0o777 == 0o644
    assert [path.name for path in file.parent.iterdir()] == ["a.sif"], "nothing is left beside it"
    assert f"cache={file}." in images.commands[0], "the download is on the disk of the image"
    file.write_text("an admin's own")
    assert images.run(row).stdout == ""
    assert file.read_text() == "an admin's own"
    assert len(images.commands) == 1


def test_a_failed_download_is_named_and_leaves_no_file(images: Images) -> None:
    bad, good = images.folder / "one/bad.sif", images.folder / "one/good.sif"
    done = images.run(("singularity", "docker://site/broken", str(bad)), ("singularity", "docker://site/a", str(good)))
    assert done.returncode == 1
    assert done.stderr == f"{bad}: not fetched from docker://site/broken\n"
    assert [path.name for path in good.parent.iterdir()] == ["good.sif"]


def test_no_image_is_written_below_a_directory_that_users_can_change(images: Images) -> None:
    theirs = images.folder / "theirs"
    theirs.mkdir()
    os.chown(theirs, 20001, 20001)
    open_to_all = images.folder / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    (images.folder / "link").symlink_to(theirs)
    rows = [
        ("singularity", "docker://a", str(images.folder / folder / "a.sif")) for folder in ("theirs", "open", "link")
    ]
    done = images.run(*rows)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [f"{file}: users can write to a directory of its path" for _, _, file in rows]
    assert images.commands == []


@pytest.mark.promise("ARA-032")
def test_missing_images_of_docker_are_pulled(images: Images) -> None:
    done = images.run(("docker", "here:1", "-"), ("docker", "new:1", "-"), ("docker", "away:1", "-"))
    assert done.returncode == 1
    assert (done.stdout, done.stderr) == ("fetched new:1\n", "away:1: not fetched\n")
    assert images.commands == ["docker pull --quiet new:1", "docker pull --quiet away:1"]


# The nodes that download each image


def fetchers(cluster: Cluster) -> dict[str, list[str]]:
    return {name: [image.source for image in images_for(cluster, node)] for name, node in cluster.nodes.items()}


@pytest.mark.promise("AAU-042", "AAU-043")
def test_a_file_on_an_export_is_downloaded_by_one_node() -> None:
    found = {name: sources for name, sources in fetchers(AAU).items() if sources}
    assert found == {"nv-ai-01": ["docker://nvcr.io/nvidia/tensorflow:20.10-tf2-py3"]}
    texts = {file.path: file.text for file in files_of(AAU, AAU.nodes["nv-ai-01"], "images")}
    assert texts[LIST].splitlines()[2:] == [
        "singularity\tdocker://nvcr.io/nvidia/tensorflow:20.10-tf2-py3\t"
        "/user/share/singularity/images/tensorflow_20.10-tf2-py3.sif"
    ]
    assert PROGRAM in texts


def test_each_node_pulls_its_images_of_docker() -> None:
    compute = [node.name for node in ARANDU.having("compute")]
    assert [name for name, sources in fetchers(ARANDU).items() if sources] == compute
