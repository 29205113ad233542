"""Host keys are read by ssh from a real SSH server behind a jump host, and pinned only if a person accepts them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import paramiko
import pytest
from inventories import SMALL, cluster_at
from ssh_server import LOCAL, Server, new_key, serving

from gpupool.errors import GpupoolError
from gpupool.joining import host_key
from gpupool.joining.host_key import Pins, fingerprint, known_name, pin, pinned, pins_of, scan
from gpupool.joining.prepare import _pinned
from gpupool.remote.nodes import Nodes
from gpupool.target import Target


@pytest.fixture
def known_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home of an admin, and the path of the known hosts file in it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path / ".ssh" / "known_hosts"


@pytest.fixture
def server(tmp_path: Path, known_hosts: Path) -> Iterator[Server]:
    """A machine with an SSH server, which the admin's ~/.ssh/config reaches through a jump host."""
    with serving(tmp_path / "server") as machine, serving(tmp_path / "gate") as gate:
        configure(known_hosts, machine, gate)
        yield machine


def configure(known_hosts: Path, machine: Server, gate: Server) -> None:
    known_hosts.parent.mkdir(mode=0o700, exist_ok=True)
    config = known_hosts.with_name("config")
    config.write_text(
        f"Host gate\n  HostName {LOCAL}\n  Port {gate.port}\n  IdentityFile {gate.data['ssh_key']}\n"
        f"  User root\n  UserKnownHostsFile {gate.data['ssh_known_hosts_file']}\n"
        f"Host new\n  Port {machine.port}\n  ProxyJump gate\n  IdentityFile {machine.data['ssh_key']}\n"
        f"  UserKnownHostsFile {known_hosts}\n"
    )
    config.chmod(0o600)


@contextmanager
def connected() -> Iterator[Nodes]:
    """Connections to the machine `new`, which is not in the inventory."""
    with Nodes.of(Target(cluster_at(SMALL), None, {}), {"new": LOCAL}) as nodes:
        yield nodes


def pins_at(known_hosts: Path, port: int) -> Pins:
    return Pins(known_hosts, (known_name(LOCAL, port),))


def own_key(server: Server) -> str:
    """Return the server's key in the format of a known hosts file."""
    _, kind, key = Path(server.data["ssh_known_hosts_file"]).read_text().split()
    return f"{kind} {key}"


def other_key(tmp_path: Path, name: str = "other") -> str:
    key = new_key(tmp_path / name)
    return f"{key.get_name()} {key.get_base64()}"


def test_the_host_keys_of_a_machine_are_read_without_a_login(server: Server) -> None:
    with connected() as nodes:
        assert scan(nodes, "new") == (own_key(server),)
    assert not server.asked.exists()


def test_a_machine_is_reached_once_its_key_is_pinned(known_hosts: Path, server: Server) -> None:
    with connected() as nodes:
        pins = pins_of(nodes, "new")
        assert pins == pins_at(known_hosts, server.port)
        with pytest.raises(GpupoolError, match="Host key verification failed"):
            nodes.output_on("new", "true")
        pin(pins, scan(nodes, "new"))
        assert nodes.output_on("new", "echo", "here") == "here\n"


def test_a_host_alias_of_openssh_is_accepted(known_hosts: Path, server: Server) -> None:
    config = known_hosts.with_name("config")
    config.write_text(f"Host new\n  HostKeyAlias new.example\n{config.read_text()}")
    with connected() as nodes:
        assert pins_of(nodes, "new").names == (known_name(LOCAL, server.port), "new.example")


def test_the_error_names_a_machine_without_an_ssh_server(tmp_path: Path, known_hosts: Path, server: Server) -> None:
    with serving(tmp_path / "gone") as gone:
        pass
    config = known_hosts.with_name("config")
    config.write_text(config.read_text().replace(f"Port {server.port}\n", f"Port {gone.port}\n"))
    with connected() as nodes, pytest.raises(GpupoolError, match=r"^new: "):
        scan(nodes, "new")


def test_the_error_names_the_package_of_a_missing_ssh(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: Server
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with connected() as nodes, pytest.raises(GpupoolError, match="apt-get install openssh-client"):
        scan(nodes, "new")


def test_a_fingerprint_has_the_form_of_ssh() -> None:
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
    assert fingerprint(key) == "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU"


def test_a_port_other_than_22_is_part_of_the_name() -> None:
    assert (known_name("10.0.0.1", 22), known_name("10.0.0.1", 2222)) == ("10.0.0.1", "[10.0.0.1]:2222")


@pytest.mark.parametrize("port", [22, 2222])
def test_a_machine_has_the_keys_that_were_pinned_last_and_others_keep_theirs(
    known_hosts: Path, port: int, tmp_path: Path
) -> None:
    one, two, three = (other_key(tmp_path, name) for name in ("one", "two", "three"))
    ecdsa = paramiko.ECDSAKey.generate()
    four = f"{ecdsa.get_name()} {ecdsa.get_base64()}"
    first, second = (Pins(known_hosts, (known_name(address, port),)) for address in ("10.0.0.1", "10.0.0.2"))
    pin(first, [one])
    pin(second, [two])
    pin(first, [three, four])
    assert pinned(first) == (three, four)
    assert pinned(second) == (two,)
    assert one not in known_hosts.read_text()
    assert [file.name for file in known_hosts.parent.iterdir()] == ["known_hosts"], "ssh-keygen leaves no copy"
    pin(first, ())
    assert pinned(first) == ()
    assert known_hosts.parent.stat().st_mode & 0o777 == 0o700


def test_a_file_without_a_final_newline_is_not_damaged(known_hosts: Path, tmp_path: Path) -> None:
    nine, one = other_key(tmp_path, "nine"), other_key(tmp_path, "one")
    known_hosts.parent.mkdir()
    known_hosts.write_text(f"10.0.0.9 {nine}")
    pin(Pins(known_hosts, ("10.0.0.1",)), [one])
    assert pinned(Pins(known_hosts, ("10.0.0.9",))) == (nine,)
    assert pinned(Pins(known_hosts, ("10.0.0.1",))) == (one,)


def test_revoked_keys_are_not_keys_of_a_machine(known_hosts: Path, tmp_path: Path) -> None:
    bad, good = other_key(tmp_path, "bad"), other_key(tmp_path, "good")
    known_hosts.parent.mkdir()
    known_hosts.write_text(f"@revoked 10.0.0.1 {bad}\n# a comment\n10.0.0.1 {good}\n")
    assert pinned(Pins(known_hosts, ("10.0.0.1",))) == (good,)


# Host keys in an onboarding


class Person:
    """Accepts some fingerprints, and records all that were shown."""

    def __init__(self, *agreed: str) -> None:
        self.agreed = agreed
        self.asked: dict[str, list[str]] = {}

    def accepts(self, prints: Mapping[str, Sequence[str]]) -> Collection[str]:
        self.asked = {name: [*its] for name, its in prints.items()}
        return self.agreed


def onboard(known_hosts: Path, port: int, person: Person, *, replace: bool = False, fails: bool = False) -> None:
    target = Target(cluster_at(SMALL), None, {})
    with _pinned(target, {"new": LOCAL}, replace=replace, person=person):
        assert pinned(pins_at(known_hosts, port)), "during the onboarding, the keys are pinned"
        if fails:
            raise GpupoolError("it does not fit")


def test_only_an_accepted_key_is_pinned(
    known_hosts: Path, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    strange = other_key(tmp_path)
    right = own_key(server)
    monkeypatch.setattr(host_key, "scan", lambda *_: (strange, right))
    person = Person(fingerprint(right))
    onboard(known_hosts, server.port, person)
    assert person.asked == {"new": [fingerprint(strange), fingerprint(right)]}
    assert pinned(pins_at(known_hosts, server.port)) == (right,)


def test_a_refused_key_ends_the_onboarding_and_pins_nothing(known_hosts: Path, server: Server) -> None:
    with pytest.raises(GpupoolError, match="new: the host key was not accepted; nothing was changed"):
        onboard(known_hosts, server.port, Person("SHA256:another"))
    assert pinned(pins_at(known_hosts, server.port)) == ()


def test_a_known_key_is_not_asked_about(known_hosts: Path, server: Server) -> None:
    pin(pins_at(known_hosts, server.port), [own_key(server)])
    person = Person()
    onboard(known_hosts, server.port, person)
    assert person.asked == {}


def test_a_changed_key_is_refused_unless_the_machine_is_replaced(
    known_hosts: Path, server: Server, tmp_path: Path
) -> None:
    before = other_key(tmp_path)
    pin(pins_at(known_hosts, server.port), [before])
    person = Person(fingerprint(own_key(server)))
    with pytest.raises(
        GpupoolError, match=r"new: the host key is not the one in .*ssh-keygen -f .* -R '\[127\.0\.0\.1\]"
    ):
        onboard(known_hosts, server.port, person)
    assert person.asked == {}
    onboard(known_hosts, server.port, person, replace=True)
    assert pinned(pins_at(known_hosts, server.port)) == (own_key(server),)


def test_if_the_onboarding_fails_the_known_hosts_are_restored(
    known_hosts: Path, server: Server, tmp_path: Path
) -> None:
    person = Person(fingerprint(own_key(server)))
    with pytest.raises(GpupoolError, match="it does not fit"):
        onboard(known_hosts, server.port, person, fails=True)
    assert pinned(pins_at(known_hosts, server.port)) == ()
    before = other_key(tmp_path)
    pin(pins_at(known_hosts, server.port), [before])
    with pytest.raises(GpupoolError, match="it does not fit"):
        onboard(known_hosts, server.port, person, replace=True, fails=True)
    assert pinned(pins_at(known_hosts, server.port)) == (before,)
