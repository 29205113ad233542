"""The trial of a slurm.conf, its script run for real with fake Slurm commands."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import stand_ins
from pace import until

from gpupool.operations.trial import check
from gpupool.slurm.releases import DEFAULT

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the script gives its folder to Slurm's user")

# a fake slurmctld that dies of unknown keys, and whose jobs are set by words of the file
STAND_INS = {
    "slurmctld": r"""
conf=$3; grep -q '^State.*/state' "$conf" || exit 3
[ -z "${SEEN-}" ] || (cd "${conf%/*}/state" && find hash.* -type f) > "$SEEN"
name=$(cat "${conf%/*}/state/clustername" 2>/dev/null)
[ "${STATE-}" != plain ] || [ "${name%|*}" = "$name" ] || { echo "slurmctld: fatal: CLUSTER NAME MISMATCH"; exit 1; }
[ "${STATE-}" != numbered ] || [ "${name%|*}" != "$name" ] || { echo "slurmctld: fatal: no ClusterID"; exit 1; }
if line=$(grep -n '^NoSuchKey' "$conf"); then
  echo "${AS-slurmctld: }error: _parse_next_key: Parsing error at unrecognized key: NoSuchKey"
  echo "${AS-slurmctld: }fatal: Unable to process configuration file"; exit 1
fi
if grep -q '^Broken' "$conf"; then echo "slurmctld: fatal: this machine is odd"; exit 1; fi
echo "slurmctld: Running as primary controller"; [ -n "${ONCE-}" ] || exec sleep 10""",
    "squeue": r"""
[ -n "${SLURM_CONF-}" ] || { [ -n "${LIVE+1}" ] || exit 1; printf "$LIVE"; exit; } # the cluster's own slurmctld
if grep -q '^PartitionName=long' "$SLURM_CONF"; then
  echo '7|R|u-kira1|short'; echo '8|PD|u-hays1|long'; echo '9|CG|u-hays1|short'
else echo '7|CG|u-kira1|short,long'; fi
grep '^NodeName' "$SLURM_CONF" >&2""",
    "scontrol": 'ONCE=1 slurmctld -D -f "$SLURM_CONF" | sed s/slurmctld:/scontrol:/ | { ! grep -e error -e fatal; }',
    "ip": "exit 0",
    "runuser": 'shift 3; exec "$@"',
    "unshare": 'while [ "${1#-}" != "$1" ]; do shift; done; exec "$@"',
}
NEW = ".12-ab.gpupool-new"
CONF = """SlurmUser=root
StateSaveLocation=/nowhere
SlurmctldHost=marvin(10.0.0.1)
PriorityWeightAge=1
NodeName=a NodeAddr=a.example.org CPUs=1
PartitionName=short Nodes=a QOS=x
PartitionName=long Nodes=a
"""


@pytest.fixture
def etc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder instead of /etc/slurm."""
    programs = tmp_path / "bin"
    stand_ins.put(STAND_INS, programs)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    (tmp_path / "run").mkdir()
    etc = tmp_path / "slurm"
    etc.mkdir()
    (etc / "slurm.conf").write_text(CONF)
    return etc


def command(etc: Path, release: str = DEFAULT) -> list[str]:
    """Return the command of the trial, with the folder `run` beside `etc` instead of /run."""
    return [word.replace("/run/", f"{etc.parent}/run/") for word in check(release, f"{etc}/slurm.conf")]


def tried(etc: Path, release: str = DEFAULT) -> tuple[int, str]:
    """Test the new files beside /etc/slurm's: return the exit status and the last line of standard error."""
    before = {path.name: path.read_text() for path in etc.iterdir()}
    done = subprocess.run(
        command(etc, release), env={**os.environ, "GPUPOOL_NEW": NEW}, capture_output=True, text=True, check=False
    )
    assert {path.name: path.read_text() for path in etc.iterdir()} == before
    assert not list((etc.parent / "run").iterdir())
    return done.returncode, (done.stderr.strip().splitlines() or [""])[-1]


def lay(etc: Path, text: str) -> None:
    (etc / f"slurm.conf{NEW}").write_text(text)


def test_a_file_that_slurmctld_reads_without_ending_jobs_is_accepted(etc: Path) -> None:
    lay(etc, CONF + "PartitionName=more Nodes=a\n")
    assert tried(etc) == (0, "")


@pytest.mark.parametrize("before", ["slurmctld: ", "[2026-11-21T12:22:19.816] "], ids=["24.11", "26.05"])
def test_a_refusal_of_slurmctld_is_reported_with_its_line(
    etc: Path, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    monkeypatch.setenv("AS", before)
    lay(etc, CONF.replace("PriorityWeightAge=1", "NoSuchKey=1"))
    reason = "line 4 (NoSuchKey=1): Parsing error at unrecognized key: NoSuchKey"
    assert tried(etc) == (1, f"slurmctld would not start with the new files: {reason}")


def test_jobs_keep_their_scripts_or_slurmctld_would_end_them(
    etc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = ["hash.7/job.7/script", "hash.8/job.18/script"]
    for script in scripts:
        (tmp_path / "state" / script).parent.mkdir(parents=True)
        (tmp_path / "state" / script).write_text("#!/bin/sh\n")
    for now in (etc / "slurm.conf", etc / f"slurm.conf{NEW}"):
        now.write_text(CONF.replace("/nowhere", f"{tmp_path}/state"))
    monkeypatch.setenv("SEEN", f"{tmp_path}/seen")
    assert tried(etc) == (0, "")
    assert sorted((tmp_path / "seen").read_text().splitlines()) == scripts


@pytest.mark.parametrize(("release", "wanted"), [("23.11", "plain"), ("24.11", "numbered")])
def test_the_state_of_a_release_without_cluster_ids_is_tried_with_every_release(
    etc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str, wanted: str
) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "clustername").write_text("small")
    for now in (etc / "slurm.conf", etc / f"slurm.conf{NEW}"):
        now.write_text(CONF.replace("/nowhere", f"{tmp_path}/state"))
    monkeypatch.setenv("STATE", wanted)
    assert tried(etc, release) == (0, "")
    lay(etc, CONF.replace("/nowhere", f"{tmp_path}/state").replace("PriorityWeightAge=1", "NoSuchKey=1"))
    assert "Parsing error at unrecognized key: NoSuchKey" in tried(etc, release)[1]


def test_jobs_that_would_end_are_named(etc: Path) -> None:
    lay(etc, CONF.replace("PartitionName=long", "PartitionName=other"))
    words = "with the new files, slurmctld would end jobs (2): 7 (u-kira1, short), 8 (u-hays1, long)"
    assert tried(etc) == (1, f"{words}; let them end first")


@pytest.mark.parametrize(("live", "lost"), [("7|R\\n8|CG\\n", "jobs (1): 7 (u-kira1, short)"), ("", "")])
def test_jobs_that_ended_since_the_last_state_are_not_counted_as_lost(
    etc: Path, monkeypatch: pytest.MonkeyPatch, live: str, lost: str
) -> None:
    monkeypatch.setenv("LIVE", live)
    lay(etc, CONF.replace("PartitionName=long", "PartitionName=other"))
    assert tried(etc) == (
        (1, f"with the new files, slurmctld would end {lost}; let them end first") if lost else (0, "")
    )


def test_a_first_slurm_conf_is_tried_alone(etc: Path) -> None:
    (etc / "slurm.conf").unlink()
    lay(etc, CONF.replace("PartitionName=long", "PartitionName=other"))
    assert tried(etc) == (0, "")
    lay(etc, CONF + "NoSuchKey=1\n")
    assert tried(etc)[0] == 1


def test_if_the_current_file_does_not_start_either_the_new_one_is_accepted(etc: Path) -> None:
    (etc / "slurm.conf").write_text(CONF + "Broken=1\n")
    lay(etc, CONF + "Broken=1\nPartitionName=more Nodes=a\n")
    assert tried(etc) == (0, "")


def test_without_namespaces_only_its_keys_are_read(etc: Path, tmp_path: Path) -> None:
    (tmp_path / "bin" / "unshare").write_text("#!/bin/sh\nexit 1\n")
    lay(etc, CONF.replace("PartitionName=long", "PartitionName=other"))
    assert tried(etc) == (0, "")
    lay(etc, CONF + "NoSuchKey=1\n")
    words = "line 8 (NoSuchKey=1): Parsing error at unrecognized key: NoSuchKey"
    assert tried(etc) == (1, f"slurmctld would not start with the new files: {words}")


def test_files_staged_by_another_run_are_not_tried(etc: Path) -> None:
    (etc / "slurm.conf.4-ef.gpupool-new").write_text(CONF + "NoSuchKey=1\n")
    assert tried(etc) == (0, "")


def test_a_node_without_slurmctld_accepts_everything(etc: Path, tmp_path: Path) -> None:
    (tmp_path / "bin" / "slurmctld").unlink()
    lay(etc, CONF + "NoSuchKey=1\n")
    assert tried(etc) == (0, "")
    (etc / "slurm.conf").unlink()
    assert tried(etc) == (0, ""), "its first one, too"


@pytest.fixture
def waiting(etc: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A trial that has begun and whose slurmctld is not ready."""
    slurmctld = etc.parent / "bin" / "slurmctld"
    text = slurmctld.read_text()
    begun = etc.parent / "begun"
    slurmctld.write_text(f"#!/bin/sh\necho $$ > {begun}.new; mv {begun}.new {begun}\nexec sleep 60\n")
    trial = subprocess.Popen(command(etc), env={**os.environ, "GPUPOOL_NEW": NEW}, start_new_session=True)
    until(begun.exists, "slurmctld starts")
    slurmctld.write_text(text)
    yield trial
    for end, process in ((os.killpg, trial.pid), (os.kill, int(begun.read_text()))):
        with suppress(ProcessLookupError):
            end(process, signal.SIGKILL)
    trial.wait()


def test_the_next_trial_removes_the_folder_of_a_killed_one(etc: Path, waiting: subprocess.Popen[bytes]) -> None:
    (etc.parent / "run/gpupool-trial.Ab12cD/new").mkdir(parents=True)  # the name of an earlier version
    os.killpg(waiting.pid, signal.SIGKILL)
    waiting.wait()
    assert tried(etc) == (0, "")  # it removes leftovers first


def test_a_running_trial_keeps_its_folder(etc: Path, waiting: subprocess.Popen[bytes]) -> None:
    run = etc.parent / "run"
    (folder,) = run.iterdir()
    done = subprocess.run(command(etc), env={**os.environ, "GPUPOOL_NEW": NEW}, check=False)
    assert (done.returncode, [*run.iterdir()]) == (0, [folder])
    assert (folder / "new/log").exists()
