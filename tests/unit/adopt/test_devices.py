"""gres.conf is compared by its devices, however its lines are written."""

from pathlib import Path

from gpupool.adopt.devices import meaning_of_gres
from gpupool.adopt.folder import Folder
from gpupool.adopt.inventory import adopted
from gpupool.adopt.slurm_conf import plain, read

CONF = "NodeName=g[1-2] Gres=gpu:a:4\nNodeName=c1 CPUs=4\nPartitionName=p Nodes=ALL\n"


def meaning(top: Path, gres: str) -> dict[tuple[str, str, str], str]:
    (top / "slurm.conf").write_text(CONF)
    (top / "gres.conf").write_text(gres)
    folder = Folder(top)
    return meaning_of_gres(read(folder), plain(folder, "gres.conf"))


def test_lines_that_mean_the_same_are_equal(tmp_path: Path) -> None:
    one = meaning(tmp_path, "NodeName=g[1-2] Name=gpu Type=A File=/dev/nvidia[0-3]\n")
    assert one == {("gres", "gpu", node): "type=a file=/dev/nvidia[0-3]" for node in ("g1", "g2")}
    parts = "Name=gpu type=a File=/dev/nvidia[2-3] Count=2\nNAME=GPU Type=a File=/dev/nvidia[0-1]\n"
    assert meaning(tmp_path, parts) == one
    assert meaning(tmp_path, f"AutoDetect=off\n{parts}") == one


def test_cores_autodetect_and_files_differ(tmp_path: Path) -> None:
    found = meaning(
        tmp_path, "AutoDetect=nvml\nNodeName=g2 Name=gpu File=/dev/nvidia0 Cores=0-3\nNodeName=c1 Name=gpu\n"
    )
    assert found == {
        ("gres", "gpu", "g1"): "autodetect=nvml",
        ("gres", "gpu", "g2"): "autodetect=nvml; cores=0-3 file=/dev/nvidia0",
    }


def test_files_of_every_node_are_described_once(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text("NodeName=g[1-9999] Gres=gpu:9999\n")
    (tmp_path / "gres.conf").write_text("Name=gpu File=/dev/nvidia[0-9998]\n" * 3)
    folder = Folder(tmp_path)
    found = meaning_of_gres(read(folder), plain(folder, "gres.conf"))
    assert len(found) == 9999
    assert len({id(text) for text in found.values()}) == 1


def test_devices_that_gpupool_would_write_otherwise_are_the_sites_own_gres_conf(tmp_path: Path) -> None:
    text = "NodeName=g[1-2] Name=gpu Type=a File=/dev/nvidia[0-3] Cores=0-7\n"
    meaning(tmp_path, f"# ours\nInclude /etc/slurm/gpus.conf\n{text.replace('g[1-2]', 'g1')}")
    (tmp_path / "gpus.conf").write_text(text.replace("g[1-2]", "g2"))
    result = adopted(Folder(tmp_path), "24.11")
    assert [str(one) for one in result.differences or [] if one.section == "gres"] == []
    assert result.files["slurm/gres.conf"] == text.replace("g[1-2]", "g2") + text.replace("g[1-2]", "g1")


def test_a_difference_of_devices_is_shown(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text("NodeName=g+1 Gres=gpu:a:4\n")
    (tmp_path / "gres.conf").write_text("NodeName=g+1 Name=gpu Type=a File=/dev/nvidia[0-3] Cores=0-7\n")
    lines = [str(one) for one in adopted(Folder(tmp_path), "24.11").differences or [] if one.section == "gres"]
    assert lines == ["gpu in gres.conf of node g+1: cores=0-7 type=a file=/dev/nvidia[0-3], would be not set"]
