"""The saved state of a testbed, how it is found again, and the meaning of a look at a node."""

import subprocess
from pathlib import Path

import pytest

from gpupool.errors import TestbedError, UsageError
from gpupool.testbed import keys, look, state
from gpupool.testbed.spec import Container
from gpupool.testbed.state import State

BOXES = (Container("head", "10.66.0.1", "head.example.org"), Container("gpu-1", "10.66.1.1", "gpu-1.example.org"))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def a_state(name: str = "twin", prefix: str = "gpupool", inventory: str = "/site/inventory") -> State:
    place = state.folder(f"{prefix}-{name}")
    return State(
        id=f"{prefix}-{name}",
        name=name,
        prefix=prefix,
        inventory=inventory,
        network="10.66.0.0/16",
        domain="example.org",
        suite="trixie",
        cgroups="v1",
        images={},
        nodes={"head": "10.66.0.1"},
        roles={"head": ["head"]},
        key=str(place / "id_ed25519"),
        known_hosts=str(place / "known_hosts"),
        ssh_config=str(place / "ssh_config"),
    )


def save(kept: State) -> State:
    with state.locked(kept.id):
        state.save(kept)
    return kept


def test_a_saved_state_is_loaded_and_removed() -> None:
    kept = save(a_state())
    assert state.load("gpupool-twin") == kept
    assert state.folder("gpupool-twin").stat().st_mode & 0o777 == 0o700
    state.forget("gpupool-twin")
    with pytest.raises(TestbedError, match="there is no testbed gpupool-twin on this machine"):
        state.load("gpupool-twin")


def test_a_testbed_is_found_by_its_inventory() -> None:
    save(a_state("other", inventory="/site/other"))
    kept = save(a_state())
    assert state.find(Path("/site/inventory")) == kept
    with pytest.raises(TestbedError, match="no testbed of /site/nothing on this machine"):
        state.find(Path("/site/nothing"))


def test_two_testbeds_of_one_inventory_need_a_name() -> None:
    save(a_state("one"))
    two = save(a_state("two"))
    with pytest.raises(TestbedError, match=r"choose one with .*--name"):
        state.find(Path("/site/inventory"))
    assert state.find(Path("/site/inventory"), name="two") == two


def test_an_unreadable_state_is_an_error_and_hides_no_other() -> None:
    save(a_state("one"))
    (state.folder("gpupool-two")).mkdir()
    (state.folder("gpupool-two") / "state.json").write_text("{")
    with pytest.raises(TestbedError, match="cannot read the state of testbed gpupool-two"):
        state.load("gpupool-two")
    assert [kept.name for kept in state.every()] == ["one"]


def test_two_commands_do_not_change_a_testbed_at_once() -> None:
    with (
        state.locked("gpupool-twin"),
        pytest.raises(TestbedError, match="another command is using"),
        state.locked("gpupool-twin"),
    ):
        pass


def test_a_key_is_created_once(tmp_path: Path) -> None:
    key = keys.ensure_key(tmp_path)
    text = key.read_text()
    assert key.stat().st_mode & 0o077 == 0
    assert keys.ensure_key(tmp_path).read_text() == text
    keys.public_path(key).unlink()  # as left by a kill in the middle
    assert keys.ensure_key(tmp_path).read_text() != text
    assert keys.public_path(key).read_text().startswith("ssh-ed25519 ")


def test_known_hosts_have_every_name_of_a_node() -> None:
    text = keys.known_hosts([(BOXES[0], "ssh-ed25519 AAAA root@head")])
    assert text == "head,head.example.org,10.66.0.1 ssh-ed25519 AAAA\n"


def test_ssh_reads_the_generated_configuration(tmp_path: Path) -> None:
    config = tmp_path / "with space" / "ssh_config"
    config.parent.mkdir()
    keys.write(config, keys.ssh_config(BOXES, tmp_path / "with space" / "id", tmp_path / "with space" / "hosts"))
    output = subprocess.run(["ssh", "-F", config, "-G", "gpu-1"], capture_output=True, text=True, check=True).stdout
    assert "hostname 10.66.1.1\n" in output
    assert f"identityfile {tmp_path}/with space/id\n" in output
    assert "stricthostkeychecking true\n" in output
    assert "\nkexalgorithms ecdh-sha2-nistp256," in output


def test_the_login_is_an_ssh_that_checks_host_keys(tmp_path: Path) -> None:
    kept = save(a_state())
    with pytest.raises(UsageError, match="has no node hed: it has head"):
        look.ssh_command(kept, "hed")
    with pytest.raises(TestbedError, match="was only partly started"):
        look.ssh_command(kept, "head")
    Path(kept.ssh_config).touch()
    assert look.ssh_command(kept, "head", "ann", ["squeue", "-l"])[1:] == [
        *("-F", kept.ssh_config, "-l", "ann", "head", "--", "squeue", "-l")
    ]


@pytest.mark.parametrize(
    ("printed", "result"),
    [
        ("", look.ProbeResult("", False, "-", ())),
        ("ssh-ed25519 A r@h\ninactive\n", look.ProbeResult("ssh-ed25519 A r@h", False, "-", ())),
        ("ssh-ed25519 A r@h\nactive\nrunning\n", look.ProbeResult("ssh-ed25519 A r@h", True, "running", ())),
        (
            "ssh-ed25519 A r@h\nactive\ndegraded\nmunge.service\nx.mount\n",
            look.ProbeResult("ssh-ed25519 A r@h", True, "degraded", ("munge.service", "x.mount")),
        ),
    ],
)
def test_the_output_of_the_probe_is_read(printed: str, result: look.ProbeResult) -> None:
    assert look.read(printed) == result


def test_a_node_with_a_failed_service_is_usable() -> None:
    node = look.NodeStatus("head", "10.66.0.1", ("head",), "running", "degraded", True, ("munge.service",))
    assert node.as_dict()["ok"] is True
    assert not look.NodeStatus("head", "10.66.0.1", (), "exited", "-", False).ok
