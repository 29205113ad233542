"""sbash in a terminal on a head node."""

import re
import subprocess

import pytest

from gpupool.testbed.look import ssh_command
from tests.testbed.cluster import Testbed

LOOK = r"""
echo "node=$(hostname)"
scontrol -o show job $SLURM_JOB_ID
for gpu in /dev/nvidia[0-9]*; do { exec 3<$gpu; } 2>&1; done | grep -c 'No such device' | sed 's/^/gpus=/'
exit
"""


def at_a_terminal(testbed: Testbed, command: str, typed: str, user: str = "u-kira1") -> str:
    """Return the output of the terminal; the words are typed once the shell is ready."""
    assert testbed.target.testbed
    words = ssh_command(testbed.target.testbed, "sky1", user, [command])
    words.insert(1, "-tt")
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True) as shell:
        assert shell.stdin
        assert shell.stdout
        try:
            seen = ""
            while "sbash: job " not in seen:
                line = shell.stdout.readline()
                assert line, f"no shell came: {seen}"
                seen += line
            shell.stdin.write(typed)
            shell.stdin.flush()
            seen += shell.stdout.read()
            assert shell.wait() == 0, seen
        finally:
            shell.kill()
    return seen


@pytest.mark.promise("SKY-110", "SKY-120")
@pytest.mark.parametrize(
    ("options", "nodes", "message"),
    [
        ("", None, "Partition=short Account=kira-lab TimeLimit=2-00:00:00"),
        ("-g a40", {"a40-01"}, "Partition=short Account=kira-lab"),
        ("-g rtx_6000", {"clippy"}, "Partition=short"),
        ("-p debug", None, "Partition=debug TimeLimit=04:00:00"),
        ("-p overcap -A overcap", None, "Partition=overcap Account=overcap"),
    ],
)
def test_sbash_starts_a_shell_with_one_gpu(idle: Testbed, options: str, nodes: set[str] | None, message: str) -> None:
    compute = {node.name for node in idle.cluster.having("compute")}
    seen = at_a_terminal(idle, f"sbash {options}", LOOK)
    found = re.search(r"^node=(\S+)", seen, re.MULTILINE)
    assert found, seen
    assert found[1] in (nodes or compute)
    assert re.search(r"^sbash: job \d+ on " + re.escape(found[1]), seen, re.MULTILINE), "it says where it is"
    assert re.search(r"^gpus=1\b", seen, re.MULTILINE), seen
    for word in message.split():
        assert f" {word} " in seen
    assert re.search(r"ReqTRES=cpu=6,\S*gres/gpu=1\b", seen), seen


@pytest.mark.promise("SKY-111")
def test_overcap_needs_its_account(idle: Testbed) -> None:
    refused = idle.run("sky1", "sbash -p overcap", "u-kira1")
    assert refused.returncode
    assert "Invalid account or account/partition combination" in refused.stderr
    assert "--account" in idle.out("sky2", "sbash --help", "u-hays1")
