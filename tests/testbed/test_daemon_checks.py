"""A daemon tests its new file before it is installed: if the new file is refused, the old one stays.

A plan has it tested, too. So an apply refuses before it changes anything.
"""

import pytest

from tests.testbed.cluster import Testbed, gpupool

SSHD = "/etc/ssh/sshd_config.d"
MARIADB = "/etc/mysql/mariadb.conf.d"


@pytest.mark.parametrize(
    ("node", "ours", "wrong", "text", "message"),
    [
        ("clippy", f"{SSHD}/gpupool.conf", f"{SSHD}/zz.conf", "NoSuch 1", f"{SSHD}/zz.conf: line 1: Bad configuration"),
        (
            "marvin",
            f"{MARIADB}/90-gpupool.cnf",
            f"{MARIADB}/zz.cnf",
            "[mysqld]\nno_such=1",
            "unknown variable 'no_such",
        ),
    ],
    ids=["sshd", "mariadb"],
)
def test_a_file_that_its_daemon_refuses_is_not_installed(
    idle: Testbed, node: str, ours: str, wrong: str, text: str, message: str
) -> None:
    idle.out(node, f"echo '# by hand' >> {ours}")
    idle.out(node, f"cat > {wrong}", text=f"{text}\n")
    try:
        planned = gpupool("plan", idle.inventory, "--on", "testbed", "--limit", node)
        for done in (planned, idle.apply("--limit", node)):
            assert done.returncode == 1
            assert f"Trial of files: {ours}: refused, nothing is replaced: " in done.stdout
            assert message in done.stdout
        assert idle.out(node, f"tail -n 1 {ours}") == "# by hand"
    finally:
        idle.out(node, f"rm -f {wrong}")
    assert idle.apply("--limit", node).returncode == 0
    assert "# by hand" not in idle.out(node, f"cat {ours}")
