"""The site's own files: from the inventory's folder to the nodes that it names."""

from pathlib import Path

import pytest
from inventories import SMALL, copied

from gpupool.cluster.load import examine, load
from gpupool.compile import files_of
from gpupool.compile.system.site_files import reloads
from gpupool.wanted import File

FILES = """files:
  - {source: totp.conf, path: /etc/ssh/sshd_config.d/50-totp.conf, where: "@head", reload: ssh}
  - {source: getquota, path: /usr/local/bin/getquota, where: "@head,@compute", mode: "0755"}
qos:"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return an inventory with two files of the site."""
    folder = copied(SMALL, tmp_path / "site", ("qos:", FILES))
    (folder / "files").mkdir()
    (folder / "files" / "totp.conf").write_text("AuthenticationMethods publickey,keyboard-interactive\n")
    (folder / "files" / "getquota").write_text("#!/bin/sh\nexec mmlsquota\n")
    return folder


def test_nodes_get_the_files_that_the_inventory_names_for_them(site: Path) -> None:
    cluster = load(site)
    head = next(node for node in cluster.having("head"))
    compute = next(node for node in cluster.having("compute") if not node.has("head"))
    program = File("/usr/local/bin/getquota", "#!/bin/sh\nexec mmlsquota\n", mode="0755")
    assert files_of(cluster, compute, "site_files") == [program]
    assert [file.path for file in files_of(cluster, head, "site_files")] == [
        "/etc/ssh/sshd_config.d/50-totp.conf",
        "/usr/local/bin/getquota",
    ]
    assert reloads(cluster, head) == {"ssh.service": ["/etc/ssh/sshd_config.d/50-totp.conf"]}
    assert reloads(cluster, compute) == {}


def test_a_secret_a_link_out_of_the_inventory_and_an_unused_file_are_named(site: Path, tmp_path: Path) -> None:
    (site / "files" / "getquota").write_text("#!/bin/sh\nPASSWORD=hunter2 exec mmlsquota\n".replace(" exec", "\nexec"))
    (tmp_path / "elsewhere").write_text("x\n")
    (site / "files" / "link").symlink_to(tmp_path / "elsewhere")
    (site / "files" / "old.conf").write_text("x\n")
    found = [str(complaint).removeprefix(f"{site}/") for complaint in examine(site).open]
    assert [line.split(" (")[0] for line in found] == [
        "files/getquota:2: error: looks like a password",
        "files/link:1: error: cannot be read: a link to a file outside the inventory",
    ]
    for name, text in (("link", None), ("getquota", "#!/bin/sh\n")):
        (site / "files" / name).unlink()
        if text:
            (site / "files" / name).write_text(text)
    (warning,) = [str(complaint) for complaint in examine(site).open if "old.conf" in str(complaint)]
    assert "warning: files: no node gets files/old.conf (add an entry for it, or remove it)" in warning
