"""Slurm's files are read as Slurm reads them: comments, continuations, Include, DEFAULT; each fact has its line."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpupool.adopt.folder import Folder
from gpupool.adopt.lines import lines
from gpupool.adopt.slurm_conf import SlurmConf, plain, read
from gpupool.errors import UsageError


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def conf(folder: Folder, text: str, **others: str) -> SlurmConf:
    for name, content in {"slurm": text, **others}.items():
        (folder.top / f"{name}.conf").write_text(content, encoding="utf-8")
    return read(folder)


def troubles(folder: Folder) -> list[str]:
    return [str(trouble) for trouble in folder.troubles]


def test_a_comment_ends_a_line_and_an_escaped_sign_does_not(folder: Folder) -> None:
    read_conf = conf(folder, "# MailProg=/bin/a\nMailProg=/bin/b # why\nSlurmUser=a\\#b\n")
    assert read_conf.value("MailProg") == "/bin/b"
    assert read_conf.value("slurmuser") == "a#b"


def test_a_line_goes_on_after_a_backslash_even_before_a_comment(folder: Folder) -> None:
    read_conf = conf(folder, "A=1\nNodeName=n1 \\ # the first\n  CPUs=4 \\\n  State=IDLE\nB=2\\")
    node = read_conf.of("NodeName")[0]
    assert (node.value("cpus"), node.value("state"), node.place.line) == ("4", "IDLE", 2)
    assert read_conf.value("b") == "2"


def test_keys_have_any_case_blanks_may_surround_the_sign_and_quotes_hold_blanks(folder: Folder) -> None:
    read_conf = conf(folder, 'cLuStErNaMe = one\n\tReason\t=\t"a b c" Licenses=""\n')
    assert [read_conf.value(key) for key in ("ClusterName", "Reason", "Licenses")] == ["one", "a b c", ""]
    assert read_conf.settings["reason"][0].key == "Reason"


def test_default_lines_give_their_keys_to_the_lines_after_them(folder: Folder) -> None:
    read_conf = conf(
        folder,
        """NodeName=before
NodeName=DEFAULT CPUs=8 State=UNKNOWN
NodeName=a
nodename=default cpus=16
NodeName=b state=DOWN
PartitionName=p Nodes=a
""",
    )
    before, a, b = read_conf.of("NodeName")
    assert before.facts == {}
    assert (a.value("cpus"), a.value("state")) == ("8", "UNKNOWN")
    assert (b.value("cpus"), b.value("state"), b.facts["cpus"].place.line) == ("16", "DOWN", 4)
    assert read_conf.of("PartitionName")[0].value("cpus") is None


def test_the_last_of_repeated_settings_counts_and_hosts_add_up(folder: Folder) -> None:
    read_conf = conf(folder, "SlurmctldHost=a\nKillWait=1\nSlurmctldHost=b\nKILLWAIT=2\n")
    assert read_conf.value("killwait") == "2"
    assert [fact.value for fact in read_conf.settings["slurmctldhost"]] == ["a", "b"]
    assert troubles(folder) == ["slurm.conf:2: warning: KILLWAIT is repeated at slurm.conf:4: Slurm takes the last"]


def test_an_include_is_read_at_its_place_by_the_path_of_the_cluster(folder: Folder) -> None:
    (folder.top / "parts").mkdir()
    (folder.top / "parts" / "nodes.conf").write_text("NodeName=a\n")
    text = "ClusterName=Big\ninclude /etc/slurm/parts/nodes.conf\nInclude limits-%c.conf\nInclude gone.conf\n"
    read_conf = conf(folder, text, **{"limits-big": "MaxArraySize=5\n"})
    assert str(read_conf.of("NodeName")[0].place) == "parts/nodes.conf:1"
    assert read_conf.value("MaxArraySize") == "5"
    assert read_conf.files == ("slurm.conf", "parts/nodes.conf", "limits-big.conf")
    assert troubles(folder) == [
        "slurm.conf:4: warning: Include gone.conf: the folder has no such file (copy it into the folder)"
    ]


def test_a_loop_of_includes_ends(folder: Folder) -> None:
    assert conf(folder, "Include a.conf\nKillWait=3\n", a="Include slurm.conf\n").value("killwait") == "3"
    assert troubles(folder) == ["a.conf:1: warning: Include slurm.conf: the file includes itself (remove this line)"]


def test_a_line_that_is_no_pair_is_named(folder: Folder) -> None:
    conf(folder, "ClusterName=a\nKillWait 30\nTaskPlugin=\nNodeName=a CPUs=4 State\n")
    assert troubles(folder) == [
        "slurm.conf:2: warning: 'KillWait 30' is not KEY=VALUE; Slurm refuses the line",
        "slurm.conf:3: warning: 'TaskPlugin=' is not KEY=VALUE; Slurm refuses the line",
        "slurm.conf:4: warning: 'State' is not KEY=VALUE; Slurm refuses the line",
    ]


def test_a_file_outside_the_folder_or_no_file_is_not_read(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.conf").write_text("KillWait=1\n")
    (inside / "link.conf").symlink_to(tmp_path / "secret.conf")
    os.mkfifo(inside / "pipe.conf")
    folder = Folder(inside)
    text = "Include link.conf\nInclude ../secret.conf\nInclude pipe.conf\n"
    assert conf(folder, text).settings == {}
    assert [line.partition(": ")[0] for line in troubles(folder)] == ["link.conf:1", "../secret.conf:1", "slurm.conf:3"]


def test_a_folder_that_does_not_exist_is_a_mistake_of_the_command_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder"):
        Folder(tmp_path / "gone")


def test_other_files_are_lines_of_pairs(folder: Folder) -> None:
    (folder.top / "gres.conf").write_text("AutoDetect=off\nNodeName=n[1-2] Name=gpu File=/dev/nvidia[0-3]\n")
    rows = [[(fact.key, fact.value) for fact in facts] for facts in plain(folder, "gres.conf")]
    assert rows == [
        [("AutoDetect", "off")],
        [("NodeName", "n[1-2]"), ("Name", "gpu"), ("File", "/dev/nvidia[0-3]")],
    ]


def test_ten_thousand_continued_lines_are_one_line() -> None:
    (line,) = lines("x", "a=1 \\\n" * 10_000 + "b=2\n")
    assert len(line.pairs()[0]) == 10_001


@given(
    st.lists(st.one_of(st.binary(max_size=30), st.sampled_from([b"NodeName=", b"Include ", b"slurm.conf", b"\\\n"])))
)
def test_any_bytes_are_read_without_an_error(tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]) -> None:
    top = tmp_path_factory.mktemp("any")
    (top / "slurm.conf").write_bytes(b"".join(parts))
    folder = Folder(top)
    known = read(folder)
    assert all(fact.place.line >= 1 for facts in known.settings.values() for fact in facts)
    assert all("\n" not in str(trouble) for trouble in folder.troubles)
