"""Images of nodes: packages of the same suite, and single packages of another."""

import subprocess
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import pytest

from gpupool.testbed import recipe
from gpupool.testbed.vm import recipe as vm_recipe

Layer = Callable[[Mapping[str, str], Collection[str]], str]

#: Records its arguments; a download is a file.
APT = """#!/bin/sh
for word; do last=$word; done
case " $* " in
*" download "*) : > "${last}_1.0_amd64.deb" && action=download ;;
*" update "*) action="update $(cat "$(echo "$*" | grep -o '/[^ ]*sources.list')")" ;;
*) action="install $last" && [ -e "$last" ] || exit 9 ;;
esac
echo "$action" >> "$NOTES"
"""


def test_a_package_of_another_suite_has_a_separate_name() -> None:
    text = recipe.layer({}, ["uidmap", "apptainer/sid"])
    assert "packages=uidmap\n" in text
    assert "others=apptainer/sid\n" in text
    assert "others=" not in recipe.layer({}, ["uidmap"])


@pytest.mark.parametrize("layer", [recipe.layer, vm_recipe.layer], ids=["container", "virtual machine"])
def test_schedmds_packages_are_made_in_the_image_before_they_are_installed(layer: Layer) -> None:
    text = layer({"http_proxy": "http://proxy.example.org"}, ["munge", "slurm-smd-slurmd"])
    places = [text.index(part) for part in ("export http_proxy", "folder=", "apt-get download", "packages='munge")]
    assert places == sorted(places)
    assert "slurm-wlm-basic-plugins" in text[places[1] : places[2]]
    for own in (["munge", "slurmd"], ["munge"]):
        assert "slurm-smd" not in layer({}, own)


def test_a_package_of_another_suite_is_downloaded_and_installed_from_its_file(tmp_path: Path) -> None:
    apt = tmp_path / "apt-get"
    apt.write_text(APT)
    apt.chmod(0o755)
    (tmp_path / "tmp").mkdir()
    _, name, rest = recipe.install({}, ["apptainer/sid"]).partition("others=")
    script = f"set -eu\n{name}{rest}"
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "NOTES": str(tmp_path / "notes"), "TMPDIR": str(tmp_path / "tmp")}
    done = subprocess.run(["sh", "-s"], input=script, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, second, third = (tmp_path / "notes").read_text().splitlines()
    assert first.startswith("update deb ")
    assert first.endswith(" sid main")
    assert second == "download"
    assert third.endswith("/apptainer_1.0_amd64.deb")
    assert list((tmp_path / "tmp").iterdir()) == []
