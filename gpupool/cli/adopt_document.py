"""The document of `gpupool adopt --json`."""

from typing import TYPE_CHECKING, NamedTuple

from gpupool.cli.check import as_entry
from gpupool.documents.adopt import AdoptDocument, AskedEntry, ControllerEntry, DifferenceEntry

if TYPE_CHECKING:
    from gpupool.adopt.asked import Asked
    from gpupool.adopt.compare import Difference
    from gpupool.adopt.controller import Running
    from gpupool.adopt.inventory import Adopted
    from gpupool.adopt.judged import Verdict


class Seen(NamedTuple):
    """The controller of `--from`: the login to it, its facts, and the answers of its nodes."""

    login: str
    running: "Running"
    answers: "list[Asked]"


def document(result: "Adopted", verdict: "Verdict | None", seen: Seen | None) -> AdoptDocument:
    """Return the document of an adoption; `seen` is None for a copy of files."""
    found = verdict.differences if verdict else ()
    accounting = result.accounting.differ if result.accounting else []
    return AdoptDocument(
        ok=verdict is not None and not found and not verdict.refused and not accounting,
        controller=_controller(seen.login, seen.running) if seen else None,
        nodes=[_asked(answer) for answer in seen.answers] if seen else [],
        read=result.read,
        not_read=result.others,
        written=[*result.files],
        left=result.draft.data["slurm"].get("left", []),
        mistakes=[as_entry(located) for located in result.troubles],
        errors=[as_entry(located) for located in result.loaded.errors],
        slurmctld=(verdict.version if verdict else "") or None,
        why_not=(verdict.why if verdict else "") or None,
        refused=(verdict.refused if verdict else "") or None,
        differences=[_difference(one) for one in found],
        accounting=accounting,
    )


def _controller(login: str, running: "Running") -> ControllerEntry:
    return ControllerEntry(
        login=login,
        release=running.release or None,
        package=None if running.owner == "none" else running.owner,
        conf=running.conf,
        silent=running.silent,
        reservations=running.reservations,
        not_read=running.not_read,
    )


def _asked(answer: "Asked") -> AskedEntry:
    return AskedEntry(
        node=answer.node,
        failure=answer.failure or None,
        source=answer.source,
        gres=[*answer.gres],
        mounts=[*answer.mounts],
        differences=[*answer.differences],
    )


def _difference(one: "Difference") -> DifferenceEntry:
    from gpupool.adopt.causes import WHY, spelt

    return DifferenceEntry(
        file=one.place.file if one.place else None,
        line=one.place.line if one.place else None,
        section=one.section,
        key=spelt(one.section, one.key),
        of=one.of,
        was=one.was,
        would=one.would,
        cause=one.cause,
        why=WHY.get(one.cause),
        group=one.group or None,
    )
