"""New files of daemons are tested by the daemon's own check, with the existing files; an old file stays.

A plan, which has the files on this machine only, gets the same answer.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import stand_ins
from real_shell import fact_here

from gpupool.facts.daemon_trials import DaemonTrials
from gpupool.facts.trial import Tried
from gpupool.operations import daemon_checks
from gpupool.operations.daemon_checks import checks

NEW = ".12-ab.gpupool-new"
# programs that read their files like the real ones, and give the same messages
STAND_INS = {
    "sshd": r"""
[ "$1" = -t ] && [ "$2" = -f ] && [ -d RUN ] || exit 9
for file in $(sed -nE 's/^Include //p' "$3"); do
  if line=$(grep -n '"' "$file"); then
    echo "$file: line ${line%%:*}: AcceptEnv has an unterminated quote" >&2
    echo "$3: terminating, 1 bad configuration options" >&2; exit 255
  fi
done""",
    "mariadbd": r"""
for word in "$@"; do case $word in --defaults-file=*) conf=${word#*=};; --datadir=*) [ -d "${word#*=}" ] || exit 9;; esac; done
for file in $(sed -nE 's/^!includedir (.*)/\1/p' "$conf")*.cnf; do
  line=$(grep '^no_such' "$file") || continue
  echo "2026-11-22 13:59:08 0 [Warning] Could not open mysql.plugin table" >&2
  echo "2026-11-22 13:59:08 0 [ERROR] $0: unknown variable '$line'" >&2; exit 7
done""",  # noqa: E501
    "unshare": r"""
while [ "${1#-}" != "$1" ]; do shift; done
for file in "$5"/exports.d/*.exports; do
  line=$(grep -n 'nosuch' "$file") || continue
  echo "exportfs: $6/${file##*/}:${line%%:*}: unknown keyword \"nosuch\"" >&2; exit 1
done
echo 'exportfs: Failed to stat /away: No such file or directory' >&2; exit 1""",
    "exportfs": "exit 9",
    "nginx": r"""
[ "$1 $2 $3" = "-t -q -c" ] || exit 9
for file in $(sed -nE 's/^ *include (.*);/\1/p' "$4"); do
  line=$(grep -n no_such "$file") || continue
  echo "2026/11/22 13:59:08 [warn] 5#5: something else" >&2
  echo "2026/11/22 13:59:08 [emerg] 5#5: unknown directive \"no_such\" in $file:${line%%:*}" >&2
  echo "nginx: configuration file $4 test failed" >&2; exit 1
done""",
}


@pytest.fixture
def etc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder instead of /etc."""
    programs = tmp_path / "bin"
    stand_ins.put({name: text.replace("RUN", f"{tmp_path}/sshd") for name, text in STAND_INS.items()}, programs)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    for folder in ("ssh/sshd_config.d", "systemd/system", "mysql/conf.d", "exports.d", "nginx/conf.d"):
        (tmp_path / "etc" / folder).mkdir(parents=True)
    (tmp_path / "etc/ssh/sshd_config").write_text(f"Include {tmp_path}/etc/ssh/sshd_config.d/*.conf\nUsePAM yes\n")
    (tmp_path / "etc/mysql/mariadb.cnf").write_text(f"!includedir {tmp_path}/etc/mysql/conf.d/\n")
    (tmp_path / "etc/nginx/nginx.conf").write_text(f"http {{\n  include {tmp_path}/etc/nginx/conf.d/*.conf;\n}}\n")
    return tmp_path / "etc"


def tried(etc: Path, path: str, text: str) -> tuple[int, str]:
    """Write a new file beside its destination, test it, and return the exit status and the messages.

    A plan asks the same, without a file on the node. It makes no folder of sshd, and tries nothing without it.
    """
    place = etc / path
    place.parent.mkdir(exist_ok=True, parents=True)
    place.with_name(place.name + NEW).write_text(text)
    ((first, command),) = checks([f"/etc/{path}"])
    assert first == f"/etc/{path}"
    before = sorted(etc.rglob("*"))
    words = [word.replace("/etc/", f"{etc}/").replace("/run/sshd", f"{etc.parent}/sshd") for word in command]
    place.with_name(place.name + NEW).rename(etc.parent / "kept")
    possible = shutil.which(words[2].split("\n")[0].partition("=")[2]) and (
        path != DROP_IN or (etc.parent / "sshd").exists()
    )
    planned = fact_here(DaemonTrials, checks=[words], texts={str(place): text}, complete=True)[str(place)]
    if "is not on the node" in planned.refused:
        incomplete = fact_here(DaemonTrials, checks=[words], texts={str(place): text})
        assert incomplete[str(place)] == Tried(tried=False)
    (etc.parent / "kept").rename(place.with_name(place.name + NEW))
    environ = {**os.environ, "GPUPOOL_NEW": NEW, "TMPDIR": str(etc.parent)}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environ)
    assert sorted(etc.rglob("*")) == before
    assert not list(etc.parent.glob("tmp.*"))
    message = (done.stdout + done.stderr).strip()
    assert planned == (Tried(message) if possible else Tried(tried=False))
    return done.returncode, message.replace(str(etc), "/etc")


pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a plan's trial is made as root")
DROP_IN = "ssh/sshd_config.d/gpupool.conf"


def test_sshds_reason_for_a_refusal_is_reported(etc: Path) -> None:
    assert tried(etc, DROP_IN, "AcceptEnv LAUNCH\n") == (0, "")
    assert (etc.parent / "sshd").exists()
    message = f"/etc/{DROP_IN}: line 2: AcceptEnv has an unterminated quote"
    assert tried(etc, DROP_IN, 'UsePAM yes\nAcceptEnv LAUNCH"x\n') == (1, message)


def test_a_drop_in_that_repairs_a_broken_one_is_accepted(etc: Path) -> None:
    (etc / DROP_IN).write_text('AcceptEnv LAUNCH"x\n')
    assert tried(etc, DROP_IN, "AcceptEnv LAUNCH\n") == (0, "")


def test_mariadbs_reason_for_a_refusal_is_reported(etc: Path) -> None:
    assert tried(etc, "mysql/conf.d/90-gpupool.cnf", "[mysqld]\nskip-networking\n") == (0, "")
    message = "mariadbd: unknown variable 'no_such=1'"
    assert tried(etc, "mysql/conf.d/90-gpupool.cnf", "[mysqld]\nno_such=1\n") == (1, message)


def test_exports_are_checked_before_they_are_installed(etc: Path) -> None:
    """Errors in the directories, unlike errors in the file, are reported by another step."""
    assert tried(etc, "exports.d/gpupool.exports", "/a 10.0.0.0/8(rw)\n") == (0, "")
    message = 'exportfs: /etc/exports.d/gpupool.exports:1: unknown keyword "nosuch"'
    assert tried(etc, "exports.d/gpupool.exports", "/a 10.0.0.0/8(nosuch)\n") == (1, message)


def test_nginxs_reason_for_a_refusal_is_reported(etc: Path) -> None:
    assert tried(etc, "nginx/conf.d/gpupool.conf", "server {\n}\n") == (0, "")
    message = 'unknown directive "no_such" in /etc/nginx/conf.d/gpupool.conf:2'
    assert tried(etc, "nginx/conf.d/gpupool.conf", "server {\n  no_such on;\n}\n") == (1, message)


PROGRAM = "slurm/gpupool/site/prolog-scratch"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#!/bin/sh\nif true; then echo; fi\n", ""),
        ("#!/usr/bin/env python3\nmatch 1:\n    case _: pass\n", ""),
        ("#!/bin/bash -e\na=(1 2)\n", ""),
        ("#!/usr/bin/env -S LANG=C python3 -B\npass\n", ""),
        ("#!/usr/bin/awk -f\n{ no awk\n", ""),
        (
            "#!/bin/sh\nif [ -d /scratch ]; then\n",
            'prolog-scratch: 3: Syntax error: end of file unexpected (expecting "fi")',
        ),
        ("#!/bin/bash\nif [ -d /scratch ]; then\n", "prolog-scratch: line 3: syntax error: unexpected end of file"),
        ("#!/usr/bin/python3\nprint(\n", "prolog-scratch: line 2: '(' was never closed"),
        ("#!/opt/perl -w\n1;\n", "prolog-scratch: its interpreter /opt/perl is not on the node"),
        ("#!/usr/bin/env no-such\n1;\n", "prolog-scratch: its interpreter no-such is not on the node"),
    ],
)
def test_a_sites_program_is_tried_by_its_interpreter(etc: Path, text: str, message: str) -> None:
    status, reason = tried(etc, PROGRAM, text)
    assert (status, reason.replace("/etc/slurm/gpupool/site/", "")) == (1 if message else 0, message)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
@pytest.mark.parametrize(
    ("unit", "good", "bad", "message"),
    [
        (
            "a.service",
            "[Service]\nExecStart=/not/there/yet\n",
            "[Service]\nExecStart=true\nRestart=perhaps\n",
            "restart specifier",
        ),
        ("multi-user.target.d/b.conf", "[Unit]\nDescription=x\n", "[Unit]\nRequiresMountsFor=a b\n", "not absolute"),
        ("user-.slice.d/c.conf", "[Slice]\nDevicePolicy=closed\n", "[Slice]\nDevicePolicy=shut\n", "shut"),
        ("d.timer", "[Timer]\nOnCalendar=daily\n", "[Timer]\nOnCalendar=never\n", "calendar"),
    ],
)
def test_systemds_reason_for_a_refusal_is_reported(etc: Path, unit: str, good: str, bad: str, message: str) -> None:
    assert tried(etc, f"systemd/system/{unit}", good) == (0, "")
    status, reason = tried(etc, f"systemd/system/{unit}", bad)
    assert status == 1
    assert reason.startswith(f"/etc/systemd/system/{unit}:")
    assert message in reason


@pytest.mark.parametrize("path", [DROP_IN, "mysql/conf.d/90-gpupool.cnf", "exports.d/gpupool.exports"])
def test_before_a_daemon_is_installed_its_file_is_accepted_and_a_plan_has_not_tried_it(
    etc: Path, monkeypatch: pytest.MonkeyPatch, path: str, tmp_path: Path
) -> None:
    monkeypatch.setattr(daemon_checks, "_CHECKS", [("not-there", *check[1:]) for check in daemon_checks._CHECKS])
    assert tried(etc, path, 'no_such nosuch "') == (0, "")


def test_other_files_have_no_check() -> None:
    assert checks(["/etc/hosts", "/etc/slurm/slurmdbd.conf", "/etc/ssh/sshd_config.d/README"]) == []
