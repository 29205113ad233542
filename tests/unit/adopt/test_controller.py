"""The script that reads a running controller: which files it prints, without passwords; and where the copy has them."""

import base64
import subprocess
from pathlib import Path

import pytest

from gpupool.adopt import controller
from gpupool.adopt.controller import Running, copy_from
from gpupool.errors import GpupoolError, UsageError
from gpupool.shell import shell_file

PASS = "StoragePass"  # a test forbids each password of Slurm's in the repository
SCRIPT = shell_file("gpupool.adopt", "controller.sh")


def printed(*paths: Path) -> list[list[str]]:
    done = subprocess.run(["sh", "-c", SCRIPT, "sh", *map(str, paths)], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    *rows, end = [line.split("\t") for line in done.stdout.splitlines()]
    assert end == ["end"]
    return rows


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (f"{PASS}=secret", ""),
        (f"#{PASS} = secret # old", "# # old"),
        ('storagepass="two words" StorageUser=slurm', " StorageUser=slurm"),
        (f"Default{PASS}word=x", ""),
        (f"Accounting{PASS}=/run/munge/global.socket", f"Accounting{PASS}=/run/munge/global.socket"),
        ("InfluxDBPass=s\tInfluxDBUser=u", "\tInfluxDBUser=u"),
        ("Passenger=1 NodeName=pass1 CPUs=1", "Passenger=1 NodeName=pass1 CPUs=1"),
    ],
)
def test_passwords_stay_on_the_controller(tmp_path: Path, line: str, shown: str) -> None:
    file = tmp_path / "slurmdbd.conf"
    file.write_bytes(line.encode() + b"\n# \xff\n")
    ((kind, path, data),) = printed(file)
    assert (kind, path) == ("file", str(file))
    assert base64.b64decode(data) == shown.encode() + b"\n# \xff\n"


def test_a_pattern_is_all_its_files(tmp_path: Path) -> None:
    for name in ("2 b.conf", "1.conf", "1.sh"):
        (tmp_path / name).write_text(name)
    found = [path.rpartition("/")[2] for _, path, _ in printed(tmp_path / "*.conf", tmp_path / "[12]*.sh")]
    assert found == ["1.conf", "2 b.conf", "1.sh"]
    assert printed(tmp_path / "*.lua") == []


def test_a_file_that_is_missing_or_too_long_is_named(tmp_path: Path) -> None:
    long = tmp_path / "long.conf"
    with long.open("wb") as file:
        file.truncate(5_000_001)
    assert printed(tmp_path / "no such", long, tmp_path) == [
        ["gone", str(tmp_path / "no such")],
        ["cut", str(long)],
        ["gone", str(tmp_path)],
    ]


def test_files_beside_slurm_conf_lie_at_the_top_of_the_copy_and_included_ones_are_asked_for(tmp_path: Path) -> None:
    texts = {
        "/opt/etc/slurm.conf": "ClusterName=Sea\nInclude nodes.%c.conf\ninclude /srv/conf/parts.conf\n",
        "/opt/etc/nodes.sea.conf": "Include more/gpu.conf\nInclude ../../etc/shadow\n",
        "/srv/conf/parts.conf": "PartitionName=all Nodes=ALL\n",
    }
    running = Running(conf="/opt/etc/slurm.conf")

    def keep(path: str) -> None:
        encoded = base64.b64encode(texts[path].encode()).decode()
        controller._keep(running, [["file", path, encoded]], tmp_path)

    keep("/opt/etc/slurm.conf")
    assert [*controller._included(tmp_path, running.conf)] == ["/opt/etc/nodes.sea.conf", "/srv/conf/parts.conf"]
    keep("/opt/etc/nodes.sea.conf")
    keep("/srv/conf/parts.conf")
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()) == [
        "nodes.sea.conf",
        "slurm.conf",
        "srv/conf/parts.conf",
    ]
    assert [*controller._included(tmp_path, running.conf)] == ["/opt/etc/more/gpu.conf"]


@pytest.mark.parametrize("path", ["/etc/slurm/../shadow", "slurm.conf"])
def test_an_answer_that_leads_out_of_the_copy_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(GpupoolError, match="not a path of a configuration file"):
        controller._keep(Running(conf="/etc/slurm/slurm.conf"), [["file", path, ""]], tmp_path)


@pytest.mark.parametrize("login", ["", "@ctl", "root@", "-oProxyCommand=x", "root@-oProxyCommand=x", "a b@ctl"])
def test_a_login_that_ssh_would_not_understand_is_refused(tmp_path: Path, login: str) -> None:
    with pytest.raises(UsageError, match="write HOST or USER@HOST"):
        copy_from(login, tmp_path)


@pytest.mark.parametrize(
    ("daemon", "owner", "conf", "places"),
    [
        (
            "/opt/slurm/sbin/slurmctld",
            "none",
            "/opt/slurm/etc/slurm.conf",
            {"packages": "site", "prefix": "/opt/slurm"},
        ),
        (
            "/opt/slurm/24.11/sbin/slurmctld",
            "none",
            "/etc/slurm/slurm.conf",
            {"packages": "site", "prefix": "/opt/slurm/24.11", "etc": "/etc/slurm"},
        ),
        ("/usr/sbin/slurmctld", "slurmctld", "/etc/slurm/slurm.conf", {}),
        ("/usr/sbin/slurmctld", "slurm-smd-slurmctld", "/etc/slurm/slurm.conf", {"packages": "schedmd"}),
        ("/root/slurm/src/slurmctld", "none", "/etc/slurm/slurm.conf", {}),
        ("", "none", "/etc/slurm/slurm.conf", {}),
    ],
)
def test_the_source_of_slurm_is_that_of_the_daemon(daemon: str, owner: str, conf: str, places: dict[str, str]) -> None:
    assert Running(daemon=daemon, owner=owner, conf=conf).places == places
