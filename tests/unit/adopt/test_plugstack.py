"""The plugins of plugstack.conf, with those of the files that it includes."""

from pathlib import Path

import pytest

from gpupool.adopt.folder import Folder
from gpupool.adopt.inventory import Adopted, adopted

PLAIN = "ClusterName=a\nSlurmctldHost=c\nNodeName=n1\nPartitionName=p Nodes=n1\n"
PLUGINS = "include /etc/slurm/plugstack.conf.d/*.conf"
NONE = "no file of the folder"


def of(top: Path, files: dict[str, str], places: dict[str, str] | None, origin: str | None = None) -> Adopted:
    for name, text in {"slurm.conf": PLAIN, **files}.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    return adopted(Folder(top, origin), "24.11", places)


def troubles(result: Adopted) -> list[str]:
    return [text for text in map(str, result.troubles) if "include" in text]


@pytest.mark.parametrize(
    ("files", "places", "text", "expected"),
    [
        ({}, {}, None, []),  # Debian's file
        ({}, None, None, [f"plugstack.conf:2: warning: {PLUGINS}: {NONE} (copy these files, if there are any)"]),
        (
            {"2.conf": "optional b.so\n# of b\n", "1.conf": "required a.so x=y"},
            {},
            "required a.so x=y\noptional b.so\n",
            [],
        ),
        (
            {"1.conf": "include plugstack.conf\noptional a.so"},
            {},
            "optional a.so\n",
            [f"plugstack.conf.d/1.conf:1: warning: include plugstack.conf: {NONE} (copy it into the folder)"],
        ),
    ],
)
def test_plugins_of_included_files_are_the_sites(
    tmp_path: Path, files: dict[str, str], places: dict[str, str] | None, text: str | None, expected: list[str]
) -> None:
    """Nodes without slurm.conf get plugstack.conf from the controller, without the files that it includes."""
    (tmp_path / "plugstack.conf.d").mkdir()
    inside = {f"plugstack.conf.d/{name}": content for name, content in files.items()}
    result = of(tmp_path, {"plugstack.conf": f"# plugins\n{PLUGINS}\n", **inside}, places)
    assert result.files.get("slurm/plugstack.conf") == text
    assert troubles(result) == expected


def test_a_long_chain_of_included_files_ends(tmp_path: Path) -> None:
    """Files within files are read as deep as those of slurm.conf; 1200 are more than Python's own limit."""
    chain = {f"{i}.conf": f"optional {i}.so\ninclude {i + 1}.conf\n" for i in range(1, 1200)}
    result = of(tmp_path, {"plugstack.conf": "include 1.conf\n", **chain}, {})
    assert result.files["slurm/plugstack.conf"] == "".join(f"optional {i}.so\n" for i in range(1, 11))
    assert troubles(result) == ["10.conf:2: warning: include 11.conf: more than 10 files include one another"]


@pytest.mark.parametrize(
    ("included", "place"),
    [
        ("plugstack.conf", "plugstack.conf:1"),
        ("/etc/slurm/plugstack.conf", "plugstack.conf:1"),
        ("d/1.conf", "d/1.conf:2"),
    ],
)
def test_a_loop_of_included_files_ends(tmp_path: Path, included: str, place: str) -> None:
    own = f"include {included}\noptional b.so\n"
    result = of(tmp_path, {"plugstack.conf": own, "d/1.conf": "optional a.so\ninclude /etc/slurm/d/*.conf\n"}, {})
    inner = "optional a.so\n" if place.startswith("d/") else ""
    named = "/etc/slurm/d/*.conf" if inner else included
    assert result.files["slurm/plugstack.conf"] == f"{inner}optional b.so\n"
    assert troubles(result) == [f"{place}: warning: include {named}: the file includes itself (remove this line)"]


def test_files_that_all_include_one_another_are_each_named_once(tmp_path: Path) -> None:
    files = {f"d/{number}.conf": "include /etc/slurm/d/*.conf\n" for number in range(4)}
    found = troubles(of(tmp_path, {"plugstack.conf": "include d/*.conf\n", **files}, {}))
    why = "include /etc/slurm/d/*.conf: the file includes itself (remove this line)"
    assert sorted(found) == [f"d/{number}.conf:1: warning: {why}" for number in range(4)]


def test_a_relative_path_is_beside_the_file_that_includes_it(tmp_path: Path) -> None:
    """src/common/plugstack.c, _spank_conf_include; glob(3) matches no hidden file."""
    files = {
        "plugstack.conf": "include /etc/slurm/d/1.conf\n",
        "d/1.conf": "include 2.conf\ninclude more/*.conf\n",
        "2.conf": "optional of-another-file.so\n",
        "d/2.conf": "optional two.so\n",
        "d/more/3.conf": "optional three.so\n",
        "d/more/.hidden.conf": "optional hidden.so\n",
    }
    assert of(tmp_path, files, {}).files["slurm/plugstack.conf"] == "optional two.so\noptional three.so\n"


def test_a_pattern_in_the_folder_of_slurm_conf_matches_there_only(tmp_path: Path) -> None:
    """`gpupool adopt --from` knows that folder; its copy has the files at the top."""
    files = {
        "plugstack.conf": "include /opt/slurm/etc/*.spank\ninclude /opt/slurm/etc/none/*.conf\n",
        "x11.spank": "optional x11.so\n",
    }
    assert of(tmp_path, files, {}, "/opt/slurm/etc").files["slurm/plugstack.conf"] == "optional x11.so\n"
