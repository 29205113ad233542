"""script/slurm-keys reads Slurm's repository at the newest tag of each release, and names every difference."""

import subprocess

import pytest
import slurm_keys
from slurm_source import Source

CONFIG = "src/common/read_config.c"
PROTOCOL = "src/common/slurm_protocol_common.h"
#: Made-up releases: tag, and files with their text.
TAGS = {
    "slurm-25-11-0-0rc1": {CONFIG: "s_p_options_t _nodename_options[] = {\n\t{NULL}\n};"},
    "slurm-25-11-2-1": {CONFIG: "s_p_options_t _nodename_options[] = {\n\t{NULL}\n};"},
    "slurm-25-11-10-1": {
        CONFIG: """
            s_p_options_t _nodename_options[] = {
                {"Boards", S_P_UINT16},
                {"Made" , S_P_BOOLEAN, _parse_it, NULL},
                {"Weight", S_P_STRING},
                {"Reason", S_P_STRING, _defunct_option},
                {NULL}
            };
            s_p_options_t other[] = { {"Elsewhere", S_P_STRING}, {NULL} };
        """,
        PROTOCOL: "#define SLURM_MIN_PROTOCOL_VERSION DEC_SLURM_VER(SLURM_PROTOCOL_VERSION, 2)",
    },
}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """Return a repository with the made-up releases."""
    folder = tmp_path_factory.mktemp("slurm")

    def git(*arguments: str) -> None:
        author = ("-c", "user.name=kira", "-c", "user.email=kira@example.org")
        subprocess.run(["git", "-C", folder, *author, *arguments], check=True, capture_output=True)

    git("init", "-q")
    for tag, files in TAGS.items():
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        git("add", ".")
        git("commit", "-q", "--allow-empty", "-m", tag)
        git("tag", tag)
    return Source(folder)


def test_a_release_is_its_newest_tag_that_is_no_candidate(source: Source) -> None:
    assert source.tags() == {"25.11": "slurm-25-11-10-1"}


def test_differences_of_keys_name_what_is_new_gone_or_of_another_kind(source: Source) -> None:
    found = list(slurm_keys.differences_of_keys(source, "node"))
    assert "node: Made of 25.11 is not in the table" in found
    assert "node: Reason is in no release" in found
    assert "node: Weight is a text in 25.11" in found
    assert not [line for line in found if "Boards" in line or "Elsewhere" in line]


def test_a_changed_oldest_protocol_is_named(source: Source) -> None:
    assert list(slurm_keys.differences_of_upgrades(source)) == ["upgrade: 25.11 reads from 24.11 on, not 24.05"]


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("#define SLURM_MIN_PROTOCOL_VERSION SLURM_23_02_PROTOCOL_VERSION", "23.02"),
        ("#define SLURM_MIN_PROTOCOL_VERSION DEC_SLURM_VER(SLURM_PROTOCOL_VERSION, 3)", "24.11"),
        ("#define SLURM_MIN_PROTOCOL_VERSION made_up()", ""),
    ],
)
def test_the_oldest_protocol_has_two_forms(text: str, release: str) -> None:
    assert slurm_keys.oldest_protocol(text, "26.05") == release


def test_abilities_and_fields_that_are_gone_are_named(source: Source) -> None:
    assert "ability: sackd begins with no release, not 23.11" in list(slurm_keys.differences_of_abilities(source))
    assert "json: 25.11 does not write job_state" in list(slurm_keys.differences_of_json(source))


def test_every_ability_has_a_mark_in_the_source_or_none() -> None:
    assert set(slurm_keys.MARKS) == set(slurm_keys.SINCE)


def test_a_folder_without_the_releases_is_refused(source: Source) -> None:
    done = subprocess.run(
        ["script/slurm-keys", source.folder], capture_output=True, text=True, check=False, cwd=slurm_keys.ROOT
    )
    assert done.returncode == 2
    assert "has no tag of Slurm 22.05, 23.02, 23.11" in done.stderr
