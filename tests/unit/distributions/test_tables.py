"""Distributions are data: a release needs a row in a table, and no code."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
import sources

from gpupool.cluster.schema.software import Software
from gpupool.cluster.schema.systems import NodeSystem
from gpupool.distributions import tables
from gpupool.distributions.slurm import schedmd
from gpupool.distributions.tables import PURPOSES, distribution, distributions, shipping
from gpupool.nvidia import tables as nvidia
from gpupool.tables import read

ROOT = Path(__file__).parents[3]
#: Folders whose modules may name a release: tables, the language, and the images of testbeds.
MAY_NAME = ("gpupool/distributions", "gpupool/testbed", "gpupool/cluster/schema")


def test_an_inventory_may_name_each_release_of_the_tables() -> None:
    names = {name for row in distributions().values() for name in (row.label, row.key)}
    assert set(get_args(NodeSystem)) == names
    assert all(distribution(row.label) == distribution(row.key) == row for row in distributions().values())
    assert set(nvidia.distributions()) == set(distributions())


def test_the_former_key_has_the_same_meaning() -> None:
    assert Software(debian="bookworm").system == Software(distribution="debian-12").system == distribution("bookworm")
    assert Software().system == distribution("trixie")


def test_each_table_names_its_sources_and_only_known_purposes() -> None:
    for path in Path(tables.__file__).parent.glob("*.yml"):
        table = read(path)
        rows = [table, *table["releases"].values()]
        assert all(row["source"] and set(row["source"]) <= set(table["sources"]) for row in rows)
        assert all(set(row.get("packages", {})) | set(row.get("without", ())) <= set(PURPOSES) for row in rows)
        assert set(table["packages"]) == set(PURPOSES)


def test_the_packages_of_a_release_replace_the_common_ones() -> None:
    assert distribution("bookworm").names("docker") == {"docker.io"}
    assert distribution("trixie").names("docker", "sudo") == {"docker.io", "docker-cli", "sudo"}
    assert [name for name, release in distributions().items() if "singularity" not in release.without] == ["sid"]
    assert shipping("24.11") == ["trixie"]


def test_settings_depend_on_versions_of_programs_not_on_names_of_releases() -> None:
    assert [name for name, release in distributions().items() if release.has_sshd_penalties] == [
        "trixie",
        "sid",
        "resolute",
    ]
    assert {name: release.sssd_mode for name, release in distributions().items()} == {
        "bookworm": "0600",
        "trixie": "0640",
        "sid": "0640",
        "jammy": "0600",
        "noble": "0600",
        "resolute": "0640",
        "dgx-os-6": "0600",
        "dgx-os-7": "0600",
    }


def test_dgx_os_is_ubuntu_with_another_kernel() -> None:
    dgx, ubuntu = distribution("dgx-os-7"), distribution("noble")
    assert str(dgx) == "DGX OS 7"
    assert (dgx.os_release, dgx.codename, dgx.origin) == (ubuntu.os_release, "noble", "Ubuntu")
    changed = {purpose for purpose in PURPOSES if dgx.packages[purpose] != ubuntu.packages[purpose]}
    assert changed == {"kernel headers"}


def test_the_clock_of_ubuntu_is_chrony_since_26_04() -> None:
    assert [distribution(name).units["time"] for name in ("noble", "resolute")] == ["systemd-timesyncd", "chrony"]


def test_only_proved_distributions_are_images_of_slurm() -> None:
    assert [row.slurm for row in distributions().values() if row.proved] == ["22.05", "24.11", "26.05"]
    assert shipping("23.11") == []


def test_a_made_up_distribution_is_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    debian = Path(tables.__file__).with_name("debian.yml").read_text()
    text = debian.replace("name: Debian", "name: Example Linux").replace("nginx", "nginx-core")
    text = text.replace("ssh: ssh", "ssh: sshd").replace("origin: Debian", "origin: Example")
    text = text.replace("[contrib, non-free, non-free-firmware]", "[universe]")
    for old in ("bookworm", "trixie", "sid"):
        text = text.replace(f"label: {distribution(old).label}", f"label: {old}-of-example")
        text = re.sub(rf"^  {old}:$", f"  example-{old}:", text, flags=re.MULTILINE)
    (tmp_path / "debian.yml").write_text(debian)
    (tmp_path / "example.yml").write_text(text)
    monkeypatch.setattr(tables, "__file__", str(tmp_path / "tables.py"))
    try:
        tables.distributions.cache_clear()
        tables._by_name.cache_clear()
        made_up = distribution("example-trixie")
        assert str(made_up) == "Example Linux example-trixie"
        assert made_up.names("web") == {"nginx-core"}
        assert made_up.units["ssh"] == "sshd"
        assert (made_up.origin, made_up.components) == ("Example", ("universe",))
        assert distribution("trixie").names("web") == {"nginx"}
    finally:
        monkeypatch.undo()
        tables.distributions.cache_clear()
        tables._by_name.cache_clear()


def test_no_module_outside_the_tables_names_a_release() -> None:
    named = re.compile(rf"\b({'|'.join(distributions())})\b")
    assert [place for place, text in texts() if named.search(text)] == []


def test_no_module_outside_the_tables_names_a_package() -> None:
    """Names without a hyphen, such as munge or slurmd, are also those of programs, units and roles."""
    groups = [row.packages.values() for row in (*distributions().values(), schedmd())]
    packages = {name for names in groups for each in names for name in each if not name.isalnum()}
    assert "mariadb-server" in packages
    assert [place for place, text in texts() if text in packages] == []


def texts() -> Iterator[tuple[str, str]]:
    """Yield the place and the value of each text in modules that may not name a release."""
    for path in sorted([*(ROOT / "gpupool").rglob("*.py"), *(ROOT / "roles").glob("*.py")]):
        place = str(path.relative_to(ROOT))
        if not place.startswith(MAY_NAME):
            constants = (node for node in sources.nodes(path) if isinstance(node, ast.Constant))
            yield from ((f"{place}:{node.lineno}", node.value) for node in constants if isinstance(node.value, str))
