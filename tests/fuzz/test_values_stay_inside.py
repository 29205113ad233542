"""No value of an inventory becomes more than a value: check refuses it, or its file's reader finds exactly that value.

The test tries every field of the schema that takes words, and every key that an admin names, each alone and, for names,
everywhere at once. A new field needs a place in the commented example, and is tested by that alone.
"""

import copy
import json
import re
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from everything import everything
from inventories import SMALL, copied
from parsed import parsed
from pydantic import BaseModel

from gpupool.cluster import checks
from gpupool.cluster.build import build
from gpupool.cluster.load import examine
from gpupool.cluster.node_table import expand_all
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema import Inventory
from gpupool.cluster.shape import validated
from gpupool.cluster.text import read
from gpupool.compile import files_for
from gpupool.compile.slurm.accounting import entities
from gpupool.compile.slurm.reservations import reservations
from gpupool.facts.reservations import ReservationsState
from gpupool.operations.reservations import difference
from gpupool.wanted import File

TAILS = (
    *(
        "\n",
        "\r",
        "\t",
        "\0",
        "\x1b[2J",
        "\x7f",
        "\x85",
        "\u2028",
        "\ud800",
        "\nProlog=/x",
        "\nfi\ntouch left",
        "\nEND\n",
    ),
    *(" ", " Prolog=/x", "#x", " #x", ";touch left", "'", '"', "\\", "\\n", "`touch left`", "$(touch left)", "$HOME"),
    *(
        "%h",
        "%%",
        "|x",
        "&x",
        ">left",
        "{x}",
        "{{ 7 }}",
        "{user[1]}",
        "*",
        "?",
        "~",
        "!x",
        ",x",
        "=x",
        ":x",
        "/..",
        "/",
    ),
    *("]]", "--x", "@x", "é", "\u202e"),
)
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
PLAIN = ("zqxjz", "97531")  # plain suffixes that do not occur anywhere else
PATTERNS = {("Slurm.spool", "%h")}  # Slurm replaces it by a host name, and so do files of nodes
SELECTORS = (".where", ".mount_on", ".links_on", ".nodes", ".vscode_kill", ".owns")
STEP = object()  # any item of a list, any key of a mapping


@dataclass(frozen=True)
class Spot:
    """A word in the data: its path, its field of the schema, and whether it is a key there."""

    field: str
    path: tuple[str | int, ...]
    is_key: bool
    word: str


def fields(annotation: Any, name: str, value: Any = STEP, path: tuple[str | int, ...] = ()) -> Iterator[Spot]:
    """Return the spots of words in a part of the schema; with a value, one for each word in it."""
    there = value is not STEP
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for key, field in annotation.model_fields.items():
            found = field.alias or key
            if not there:
                yield from fields(field.annotation, f"{annotation.__name__}.{key}")
            elif isinstance(value, dict) and found in value:
                yield from fields(field.annotation, f"{annotation.__name__}.{key}", value[found], (*path, found))
    elif annotation is str and (not there or isinstance(value, str)):
        yield Spot(name, path, False, value if there else "")
    elif origin is dict and there and not isinstance(value, dict):
        return  # the field also accepts a word
    elif origin is dict:
        if any(True for _ in fields(arguments[0], name)):
            yield from (
                [Spot(f"{name} (keys)", (*path, key), True, key) for key in value]
                if there
                else [Spot(f"{name} (keys)", (), True, "")]
            )
        for key, below in value.items() if there else [(STEP, STEP)]:
            yield from fields(arguments[1], name, below, (*path, key) if there else ())
    elif origin is tuple:
        for index, below in enumerate(value) if there and isinstance(value, list) else [(0, STEP)] * (not there):
            yield from fields(arguments[0], name, below, (*path, index))
    elif origin is typing.Annotated:
        if not _is_parsed(arguments):
            yield from fields(arguments[0], name, value, path)
    elif origin is not typing.Literal:
        for argument in arguments:
            if not (isinstance(argument, type) and argument is type(None)):
                yield from fields(argument, name, value, path)


def _is_parsed(arguments: tuple[Any, ...]) -> bool:
    """Return whether a field becomes a number or a day."""
    return arguments[0] is not str and not typing.get_origin(arguments[0])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    data = everything(tmp_path_factory.mktemp("everything"))
    data["slurm"]["repository"] = {"default": data["slurm"]["repository"]}  # the longer form, which has a field
    return data


# the files that the example names, as their contents
OWN_FILES = {f"files/{name}": "x\n" for name in ("second-factor.conf", "getquota")}


def compiled(data: dict[str, Any]) -> dict[tuple[str, str], File] | None:
    """Return each different file and the entities for slurmdbd; None if check complains."""
    inventory, complaints = validated(data)
    if inventory is None:
        assert complaints
        assert all(str(complaint.message).isprintable() for complaint in complaints)
        return None
    node_table, complaints = expand_all(inventory)
    site = Site(inventory, node_table, {"certificates/ca.pem": CERTIFICATE, **OWN_FILES})
    complaints = complaints + checks.complaints(site, checks.CHECKS if node_table.whole else checks.NAMES)
    if any(complaint.severity == "error" for complaint in complaints):
        assert all(complaint.message.isprintable() for complaint in complaints)
        return None
    cluster = build(site)
    found = {(file.path, file.text): file for node in cluster.nodes.values() for file in files_for(cluster, node)}
    entity = File("/entities", repr(entities(cluster)))
    reserved = File(
        "/reservations", difference(ReservationsState(datetime(2029, 1, 1)), reservations(cluster)).script()
    )
    return {**found, (entity.path, entity.text): entity, (reserved.path, reserved.text): reserved}


def with_word(data: dict[str, Any], spot: Spot, word: str) -> dict[str, Any]:
    """Return the data with another word at a spot."""
    new = copy.deepcopy(data)
    here: Any = new
    for step in spot.path[:-1]:
        here = here[step]
    if spot.is_key:
        items = list(here.items())
        here.clear()
        here.update({word if key == spot.word else key: value for key, value in items})
    else:
        here[spot.path[-1]] = word
    return new


def renamed(value: Any, old: str, new: str) -> Any:
    """Return the data with a word replaced everywhere, including keys."""
    if isinstance(value, dict):
        return {new if key == old else key: renamed(below, old, new) for key, below in value.items()}
    if isinstance(value, list):
        return [renamed(item, old, new) for item in value]
    return new if value == old else value


def read_all(files: dict[tuple[str, str], File], paths: set[str], folder: Path) -> list[str]:
    """Return everything that the readers of the files at these paths find.

    Names of units are read by the rules of systemd-escape(1), and `%%` by those of sssd.conf(5).
    """

    def plain(path: str, line: str) -> str:
        if path.endswith("mount"):
            return re.sub(r"\\x([0-9a-f]{2})", lambda sign: chr(int(sign[1], 16)), line)
        return line.replace("%%", "%") if path.endswith("sssd.conf") else line

    lines = ((file.path, line) for file in files.values() if file.path in paths for line in parsed(file, folder))
    return sorted(plain(path, f"{path} {line}") for path, line in lines)


def test_every_field_for_text_is_in_the_example(data: dict[str, Any]) -> None:
    wanted = {spot.field for spot in fields(Inventory, "")}
    assert len(wanted) > 100
    assert wanted - {spot.field for spot in fields(Inventory, "", data)} - FREE - BY_QOS - OF_SITE == set()


# the source of a value; one place in the example is enough
FREE = {
    f"{model}.{key}"
    for model in {spot.field.partition(".")[0] for spot in fields(Inventory, "")}
    for key in ("src", "inferred")
}
# Slurm preempts by the tiers of partitions, as in the example, or by QoS: a cluster with QoS is tested separately
BY_QOS = {"Qos.preempts"}
# folders of a Slurm that the site has installed, beside which gpupool manages nothing else: a test has them below
OF_SITE = {"Slurm.prefix", "Slurm.etc"}
NAMES = sorted({spot.field for spot in fields(Inventory, "")} - FREE - BY_QOS - OF_SITE)


@pytest.mark.parametrize("key", ["prefix", "etc"])
@pytest.mark.parametrize("folder", ["/opt/a b", "/opt/$(id)", "/opt/a;b", "/opt/a'b", "/opt/a:b", "opt", "/opt/../etc"])
def test_a_folder_of_the_sites_slurm_is_a_plain_path(key: str, folder: str, tmp_path: Path) -> None:
    slurm = json.dumps({"version": "24.11", "packages": "site", key: folder})
    manage = ("cluster: {", "cluster: {manage: [slurm, accounts], ")
    copied(SMALL, tmp_path / "site", manage, ("scheduler:", f"slurm: {slurm}\nscheduler:"))
    errors = [located.complaint for located in examine(tmp_path / "site").errors]
    assert [(complaint.path, complaint.code) for complaint in errors] == [(("slurm", key), "shape")]


@pytest.mark.parametrize("field", NAMES)
def test_a_value_is_read_as_exactly_that_value(
    field: str, data: dict[str, Any], tmp_path: Path, original: dict[tuple[str, str], File]
) -> None:
    spots = {spot.word: spot for spot in fields(Inventory, "", data) if spot.field == field}
    for spot in list(spots.values())[: 1 if field.endswith(SELECTORS) else 2]:
        _tried(spot, partial(with_word, data, spot), original, tmp_path)
        if renamed(data, spot.word, "x") != with_word(data, spot, "x"):
            _tried(spot, partial(renamed, data, spot.word), original, tmp_path)


def test_the_name_of_a_preempted_qos_is_read_as_exactly_that_name(tmp_path: Path) -> None:
    guests = read(SMALL).data
    guests["qos"] = {"normal": {"default": True, "preempts": ["guest"]}, "guest": {"preemptable": True}}
    original = compiled(guests)
    assert original is not None
    (spot,) = (spot for spot in fields(Inventory, "", guests) if spot.field in BY_QOS)
    for change in (partial(with_word, guests, spot), partial(renamed, guests, spot.word)):
        _tried(spot, change, original, tmp_path)


@pytest.fixture(scope="module")
def original(data: dict[str, Any]) -> dict[tuple[str, str], File]:
    files = compiled(data)
    assert files is not None
    return files


def _tried(spot: Spot, change: Callable[[str], Any], original: dict[tuple[str, str], File], folder: Path) -> None:
    """Try all suffixes of a word."""
    old = spot.word

    same = next((plain for plain in PLAIN if compiled(change(old + plain))), None)
    harmless = compiled(change(old + same)) if same else None
    if harmless and harmless.keys() == original.keys():
        return  # it is in no file
    for tail in TAILS:
        if (spot.field, tail) in PATTERNS:
            continue
        word = old + tail
        files = compiled(change(word))
        if files is None or files.keys() == original.keys():
            continue
        if spot.field.endswith(SELECTORS):
            # the selector itself is never written, only the nodes that it selects
            assert not [text for _, text in files.keys() - original.keys() if word in text], f"{word!r} is written"
            continue
        assert same, f"{word!r} is accepted, and none of {PLAIN} is"
        assert harmless
        paths = {path for path, _ in (files.keys() | harmless.keys()) - original.keys()}
        wanted = [line.replace(same, tail) for line in read_all(harmless, paths, folder)]
        assert read_all(files, paths, folder) == sorted(wanted), f"{word!r} is more than a value"


def test_the_readers_find_values_that_break_out(tmp_path: Path) -> None:
    """Each of these was once accepted as a value."""
    for path, fine, broken in (
        ("/etc/slurm/slurm.conf", "KillWait=20\n", "KillWait=20 Prolog=/x\n"),
        ("/etc/slurm/slurm.conf", "PartitionName=a State=UP\n", "PartitionName=a#x State=UP\n"),
        ("/etc/ssh/sshd_config.d/gpupool.conf", "AcceptEnv A\n", "AcceptEnv A\nPermitRootLogin yes\n"),
        ("/etc/profile.d/x.sh", "export A=x\n", "export A=x;touch left\n"),
        ("/etc/systemd/system/x.service", "[Service]\nReadWritePaths=/a%%h\n", "[Service]\nReadWritePaths=/a%h\n"),
        ("/etc/hosts", "10.1.1.1 a.org\n", "10.1.1.1 a.org\n6.6.6.6 b.org\n"),
    ):
        assert parsed(File(path, fine), tmp_path) != parsed(File(path, broken), tmp_path), path
    with pytest.raises(ValueError, match="sshd"):
        parsed(File("/etc/ssh/sshd_config", 'AcceptEnv L"x\n'), tmp_path)
    with pytest.raises(Exception, match=re.escape("near")):
        parsed(File("/etc/slurm/job_submit.lua", 'local a = "x" y"'), tmp_path)
