"""The munge key: created on one node of the cluster, and copied to the others in memory.

The key never appears on a command line, in a diff, in a log, or in a file outside the nodes.
"""

from contextlib import suppress
from weakref import WeakKeyDictionary

from paramiko import SSHException
from pyinfra.api.command import FunctionCommand, StringCommand
from pyinfra.api.facts import get_fact
from pyinfra.api.host import Host
from pyinfra.api.state import State

from gpupool.change import ABSENT, PRESENT, Aspect, Change, Kind
from gpupool.facts.munge import KEY, KeyState, MungeKey
from gpupool.operations import diffs, upcoming
from gpupool.operations.ambient import executing, run_state, this_host
from gpupool.operations.frame import UNREAD, Commands, Refused, look, operation
from gpupool.operations.other_hosts import named, turn

_NEW = f"{KEY}.$$.gpupool-new"  # named after the shell that writes and renames it
#: Bytes of a key; munged refuses shorter ones.
SMALLEST = 32
_READY = f"[ $(stat -c %s {_NEW}) -ge {SMALLEST} ]"
_PLACE = (
    f"chown munge:munge {_NEW} && chmod 0400 {_NEW} && sync {_NEW} && mv -fT {_NEW} {KEY} && sync /etc/munge "
    "|| { echo 'cannot install the munge key: is the package munge installed?' >&2; exit 1; }"
)

_known: WeakKeyDictionary[Host, KeyState] = WeakKeyDictionary()
_silent: WeakKeyDictionary[Host, str] = WeakKeyDictionary()


@operation
def key(source: str | None = None) -> Commands:
    """Have a munge key, owned by munge:munge with mode 0400.

    `source` None: create a key if there is none. Otherwise the key of the host `source` is copied if it differs.
    Without an answer from the source, an existing key is kept; without a key, the operation fails.
    """
    now = look(MungeKey, "the munge key")
    fit = now.size >= SMALLEST
    wanted, trouble = (None, None) if source is None else _look_at(source)
    if source is not None and trouble and not fit:
        raise Refused(f"there is no munge key here, and {source}, which has it, {trouble}", UNREAD)
    if fit and (wanted is None or wanted.sha256 in ("", now.sha256)):
        yield from _rights(now, trouble)
        return
    how = "created here" if source is None else f"copied from {source}"
    differs = Aspect(PRESENT if source is None else f"that of {source}", "another key" if fit else ABSENT, note=how)
    diffs.record([Change(Kind.FILE, KEY, (differs,))])
    upcoming.announce(KEY, upcoming.UNKNOWN if wanted is None or not wanted.sha256 else wanted.sha256)
    if source is None:
        make = f"umask 077; rm -f {KEY}.*gpupool-new; mungekey --create --keyfile={_NEW} --bits=8192 && {_PLACE}"
        yield StringCommand(f"install -d -o munge -g munge -m 0700 /etc/munge && {make}")
        return
    box: list[str] = []
    yield FunctionCommand(read_key, (source, KEY, box), {})
    if not box:
        raise Refused(f"cannot read the munge key from {source}")
    # base64, because the input is a text stream; the file gets mode 0600 before it has the key
    yield StringCommand(
        f"umask 077; rm -f {KEY}.*gpupool-new; base64 -d > {_NEW} && {_READY} && {_PLACE}", _stdin=box.pop()
    )


def _rights(now: KeyState, trouble: str | None) -> Commands:
    if (now.owner, now.group, now.mode) == ("munge", "munge", "0400"):
        this_host().noop("munge key: as wanted" + (f" (not compared: the source {trouble})" if trouble else ""))
        return
    differs = Aspect("munge:munge 0400", f"{now.owner}:{now.group} {now.mode}")
    diffs.record([Change(Kind.FILE, KEY, (differs,))])
    yield StringCommand(f"chown munge:munge {KEY} && chmod 0400 {KEY}")


def _look_at(name: str) -> tuple[KeyState | None, str | None]:
    """Return the state of the source's key, or None and the reason."""
    host = named(name)
    if host is None:
        return None, "is not in the inventory"
    state = run_state()
    if host in state.failed_hosts:
        return None, "has failed in this run"
    with turn(host):
        if host in _silent:
            return None, _silent[host]
        known = _known.get(host)
        if known is None or (executing() and known.size < SMALLEST):  # this run may have made the key since
            try:
                known = get_fact(state, host, MungeKey, apply_failed_hosts=False)
            except Exception:  # whatever the connector raises must not fail this host
                # all nodes ask, one after the other, but only the first waits for the time-out
                _silent[host] = "cannot be reached"
                return None, _silent[host]
            if known is not None and (known.size >= SMALLEST or not executing()):
                _known[host] = known
    if known is None:
        return None, "does not answer"
    if executing() and known.size < SMALLEST:
        return None, "has no munge key"
    return known, None


def read_key(state: State, host: Host, name: str, path: str, box: list[str]) -> bool:
    """Append the key at a path of host `name` to `box` as base64; nothing if it could not be read."""
    # pyinfra passes state and host because of the names of these arguments
    source = state.inventory.get_host(name, default=None)
    if source is not None:
        with turn(source), suppress(OSError, SSHException):
            done, output = source.run_shell_command(StringCommand("base64", "-w0", path), print_output=False)
            if done and len(output.stdout) >= SMALLEST:
                box.append(output.stdout)
    return True
