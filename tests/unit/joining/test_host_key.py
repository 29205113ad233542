"""Host keys are read by ssh-keyscan from a real SSH server, and pinned only where a person has agreed to them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import paramiko
import pytest
from inventories import SMALL
from ssh_server import LOCAL, Server, new_key, serving

from gpupool.cluster.load import load
from gpupool.errors import GpupoolError
from gpupool.joining import host_key
from gpupool.joining.host_key import fingerprint, known_name, pin, pinned, scan
from gpupool.joining.prepare import _pinned
from gpupool.target import Target


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "server") as it:
        yield it


@pytest.fixture
def known(tmp_path: Path) -> Path:
    return tmp_path / "ssh" / "known_hosts"


def own_key(server: Server) -> str:
    """Return the server's key as its own file of known hosts has it."""
    _, kind, key = Path(server.data["ssh_known_hosts_file"]).read_text().split()
    return f"{kind} {key}"


def other_key(tmp_path: Path, name: str = "other") -> str:
    key = new_key(tmp_path / name)
    return f"{key.get_name()} {key.get_base64()}"


def test_the_keys_that_a_machine_shows_are_read(server: Server) -> None:
    assert scan(LOCAL, server.port) == (own_key(server),)


def test_a_machine_without_an_ssh_server_is_named(tmp_path: Path) -> None:
    with serving(tmp_path / "gone") as gone:
        pass
    with pytest.raises(GpupoolError, match=f"{LOCAL}: no SSH server answers on port {gone.port}"):
        scan(LOCAL, gone.port)


def test_without_ssh_keyscan_the_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GpupoolError, match="apt-get install openssh-client"):
        scan(LOCAL, 22)


def test_a_fingerprint_is_as_ssh_shows_it() -> None:
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
    assert fingerprint(key) == "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU"


def test_a_port_other_than_22_is_part_of_the_name() -> None:
    assert (known_name("10.0.0.1", 22), known_name("10.0.0.1", 2222)) == ("10.0.0.1", "[10.0.0.1]:2222")


@pytest.mark.parametrize("port", [22, 2222])
def test_a_machine_has_just_the_keys_that_were_pinned_last_and_others_keep_theirs(
    known: Path, port: int, tmp_path: Path
) -> None:
    one, two, three = (other_key(tmp_path, name) for name in ("one", "two", "three"))
    ecdsa = paramiko.ECDSAKey.generate()
    four = f"{ecdsa.get_name()} {ecdsa.get_base64()}"
    pin(known, "10.0.0.1", port, [one])
    pin(known, "10.0.0.2", port, [two])
    pin(known, "10.0.0.1", port, [three, four])
    assert pinned(known, "10.0.0.1", port) == (three, four)
    assert pinned(known, "10.0.0.2", port) == (two,)
    assert one not in known.read_text()
    assert [file.name for file in known.parent.iterdir()] == ["known_hosts"], "ssh-keygen leaves no copy"
    pin(known, "10.0.0.1", port, ())
    assert pinned(known, "10.0.0.1", port) == ()
    assert known.parent.stat().st_mode & 0o777 == 0o700


def test_a_file_without_a_newline_at_its_end_is_not_spoiled(known: Path, tmp_path: Path) -> None:
    nine, one = other_key(tmp_path, "nine"), other_key(tmp_path, "one")
    known.parent.mkdir()
    known.write_text(f"10.0.0.9 {nine}")
    pin(known, "10.0.0.1", 22, [one])
    assert pinned(known, "10.0.0.9", 22) == (nine,)
    assert pinned(known, "10.0.0.1", 22) == (one,)


def test_revoked_keys_are_not_taken_for_a_machines_keys(known: Path, tmp_path: Path) -> None:
    bad, good = other_key(tmp_path, "bad"), other_key(tmp_path, "good")
    known.parent.mkdir()
    known.write_text(f"@revoked 10.0.0.1 {bad}\n# a comment\n10.0.0.1 {good}\n")
    assert pinned(known, "10.0.0.1", 22) == (good,)


# What an onboarding does with them


class Person:
    """Agrees to some fingerprints, and keeps what was asked."""

    def __init__(self, *agreed: str) -> None:
        self.agreed = agreed
        self.asked: dict[str, list[str]] = {}

    def accepts(self, prints: Mapping[str, Sequence[str]]) -> Collection[str]:
        self.asked = {name: [*its] for name, its in prints.items()}
        return self.agreed


def reached(known: Path, port: int, person: Person, *, replace: bool = False, fails: bool = False) -> None:
    target = Target(load(SMALL), None, {"ssh_port": port, "ssh_known_hosts_file": str(known)})
    with _pinned(target, {"new": LOCAL}, replace=replace, person=person):
        assert pinned(known, LOCAL, port), "the machine is reached with its keys pinned"
        if fails:
            raise GpupoolError("it does not fit")


def test_only_a_key_that_a_person_agreed_to_is_pinned(
    known: Path, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    strange = other_key(tmp_path)
    right = own_key(server)
    monkeypatch.setattr(host_key, "scan", lambda *_: (strange, right))
    person = Person(fingerprint(right))
    reached(known, server.port, person)
    assert person.asked == {"new": [fingerprint(strange), fingerprint(right)]}
    assert pinned(known, LOCAL, server.port) == (right,)


def test_a_refused_key_ends_the_onboarding_and_pins_nothing(known: Path, server: Server) -> None:
    with pytest.raises(GpupoolError, match="new: the host key was not accepted; nothing was changed"):
        reached(known, server.port, Person("SHA256:another"))
    assert pinned(known, LOCAL, server.port) == ()


def test_a_known_key_is_not_asked_about(known: Path, server: Server) -> None:
    pin(known, LOCAL, server.port, [own_key(server)])
    person = Person()
    reached(known, server.port, person)
    assert person.asked == {}


def test_another_key_than_the_known_one_is_refused_unless_the_machine_is_replaced(
    known: Path, server: Server, tmp_path: Path
) -> None:
    before = other_key(tmp_path)
    pin(known, LOCAL, server.port, [before])
    person = Person(fingerprint(own_key(server)))
    with pytest.raises(GpupoolError, match=r"new: the host key is not the one in .*ssh-keygen -f .* -R 127.0.0.1"):
        reached(known, server.port, person)
    assert person.asked == {}
    reached(known, server.port, person, replace=True)
    assert pinned(known, LOCAL, server.port) == (own_key(server),)


def test_where_the_machine_is_refused_its_keys_are_as_before(known: Path, server: Server, tmp_path: Path) -> None:
    person = Person(fingerprint(own_key(server)))
    with pytest.raises(GpupoolError, match="it does not fit"):
        reached(known, server.port, person, fails=True)
    assert pinned(known, LOCAL, server.port) == ()
    before = other_key(tmp_path)
    pin(known, LOCAL, server.port, [before])
    with pytest.raises(GpupoolError, match="it does not fit"):
        reached(known, server.port, person, replace=True, fails=True)
    assert pinned(known, LOCAL, server.port) == (before,)
