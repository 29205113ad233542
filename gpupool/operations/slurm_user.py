"""The user slurm with the controller's uid: slurmd revokes jobs of a slurmctld that runs as another uid."""

from contextlib import suppress
from weakref import WeakKeyDictionary

from pyinfra.api.command import StringCommand
from pyinfra.api.facts import get_fact
from pyinfra.api.host import Host

from gpupool.change import Aspect, Change, Kind
from gpupool.facts.users import Accounts, AccountState
from gpupool.operations import diffs
from gpupool.operations.ambient import run_state, this_host
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.other_hosts import named, turn
from gpupool.slurm.user import NAME, UID, other_number

_ASKED = {"users": [NAME, str(UID)], "groups": []}
_known: WeakKeyDictionary[Host, AccountState | None] = WeakKeyDictionary()


@operation
def refuse_another_number(source: str | None = None) -> None:
    """Fail if the user slurm of this node has another uid than on the host `source`, the first controller.

    Without this user on the source, its uid is the packages', as the source gets their user. Without this user here,
    the uid must be free. Nothing is compared if the source does not answer. `source` is None on the source: it is asked
    with all its other questions.
    """
    what = f"the user {NAME}"
    now = look(Accounts, what, **_ASKED)
    if source is None:
        this_host().noop(f"{what}: other nodes follow")
        return
    there = _look_at(source)
    if there is None:
        this_host().noop(f"the number of {what}: not compared, as {source} does not answer")
        return
    entry = there.users.get(NAME)
    uid = entry.uid if entry else UID
    if uid != UID:
        now = look(Accounts, what, users=[NAME, str(uid)], groups=[])
    if problem := _problem(now, uid, source, exists=entry is not None):
        raise Refused(problem)
    this_host().noop(f"{what} has uid {uid} here, or there is none yet")


@operation
def present(source: str | None, packaged: bool = True) -> Commands:
    """Have the user slurm, before packages create it with their own uid, if the host `source` has another uid.

    Not `packaged`: no package creates it, so it is also created with the uid of the distribution's packages. `source`
    is None on the source.
    """
    now = look(Accounts, f"the user {NAME}", users=[NAME], groups=[NAME])
    there = _look_at(source) if source else None
    wanted = there.users.get(NAME) if there else None
    uid, gid = (wanted.uid, wanted.gid) if wanted else (UID, UID)
    if NAME in now.users or (packaged and uid == UID):
        this_host().noop(f"the user {NAME} is there, or its packages create it")
        return
    diffs.record([Change(Kind.USER, f"user {NAME}", (Aspect(f"uid {uid}"),))])
    yield StringCommand(_create(uid, gid, NAME not in now.groups))


def _problem(now: AccountState, uid: int, source: str, *, exists: bool) -> str:
    """Return why this node's user slurm cannot have the uid of the source, where it exists or is yet to be created."""
    here = now.users.get(NAME)
    if here is None:
        taken = next((name for name, other in now.users.items() if other.uid == uid), None)
        if taken is None:
            return ""
        return f"uid {uid}, which {NAME} has on {source}, belongs to {taken} here: give {taken} another"
    if here.uid == uid:
        return ""
    yet = "" if exists else f" ({source} has no user {NAME} yet: its packages of Slurm create it with uid {uid})"
    return other_number(here.uid, uid, source) + yet


def _create(uid: int, gid: int, with_group: bool) -> str:
    # Slurm does not compare the gid
    group = f"groupadd -r $(getent group {gid} >/dev/null || echo -g {gid}) {NAME} && "
    user = f"useradd -r -M -u {uid} -g {NAME} -d /nonexistent -s /usr/sbin/nologin {NAME}"
    return group + user if with_group else user


def _look_at(name: str) -> AccountState | None:
    """Return the user on the host of this name; None if it has failed, does not answer, or is not in the inventory."""
    host, state = named(name), run_state()
    if host is None or host in state.failed_hosts:
        return None
    with turn(host):
        if host not in _known:
            _known[host] = None
            with suppress(Exception):  # whatever the connector raises must not fail this host
                _known[host] = get_fact(state, host, Accounts, kwargs=_ASKED, apply_failed_hosts=False)
        return _known[host]
