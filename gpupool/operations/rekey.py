"""Replace the munge key on all nodes: the new key is stored beside the old one, then all nodes change at once.

slurmctld must be stopped while nodes have different keys. A message that slurmctld refuses is not sent again: the end
of a job is lost, and the job seems to run until its time limit. While slurmctld is stopped, slurmstepd, srun and the
commands of users repeat their messages (measured with Slurm 24.11, docs/roles/munge.md).
"""

from collections.abc import Sequence
from contextlib import suppress

from paramiko import SSHException
from pyinfra.api.command import FunctionCommand, StringCommand
from pyinfra.api.host import Host
from pyinfra.api.state import State

from gpupool.change import ABSENT, PRESENT, Aspect, Change, Kind
from gpupool.facts.files import Paths
from gpupool.facts.munge import KEY, MungeKey
from gpupool.facts.service import Unit
from gpupool.operations import diffs
from gpupool.operations.ambient import executing, run_state, this_host
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.munge import SMALLEST, read_key
from gpupool.operations.other_hosts import named, turn
from gpupool.operations.service import UP

#: The new key of a node before it replaces the old one.
NEW = f"{KEY}.gpupool-next"
_UNIT = "slurmctld.service"
_READY = f"[ $(stat -c %s {NEW}) -ge {SMALLEST} ]"
_STORE = (
    f"{_READY} && chown munge:munge {NEW} && chmod 0400 {NEW} && sync {NEW} "
    "|| { echo 'cannot store the new munge key' >&2; exit 1; }"
)
_REPLACE = (
    f"{_READY} && mv -fT {NEW} {KEY} && sync /etc/munge && systemctl restart munge.service && munge -n >/dev/null "
    "|| { echo 'munge does not run with the new key (see journalctl -u munge)' >&2; exit 1; }"
)


@operation
def stored(source: str | None = None) -> Commands:
    """Store a new key beside the key of the node: created here (`source` None), or copied from the host `source`.

    A new key of an earlier run, which no node uses, is replaced. Refused without a munge key on the node.
    """
    if not look(MungeKey, "the munge key").size:
        raise Refused("there is no munge key to replace: run gpupool apply")
    how = "created here" if source is None else f"copied from {source}"
    diffs.record([Change(Kind.FILE, NEW, (Aspect(PRESENT, ABSENT, note=how),))])
    # the file has mode 0600 before it has the key
    if source is None:
        yield StringCommand(f"umask 077; rm -f {NEW}; mungekey --create --keyfile={NEW} --bits=8192 && {_STORE}")
        return
    box: list[str] = []
    yield FunctionCommand(read_key, (source, NEW, box), {})
    if not box:
        raise Refused(f"cannot read the new munge key from {source}")
    yield StringCommand(f"umask 077; rm -f {NEW}; base64 -d > {NEW} && {_STORE}", _stdin=box.pop())


@operation
def discarded() -> Commands:
    """Remove a new key that is not in use."""
    if NEW not in look(Paths, "the new munge key", paths=[NEW], shown={}):
        this_host().noop("no new munge key is here")
        return
    diffs.record([Change(Kind.FILE, NEW, (Aspect(ABSENT, PRESENT, note="removed"),))])
    yield StringCommand(f"rm -f {NEW}")


@operation
def stopped() -> Commands:
    """Stop slurmctld; jobs continue."""
    if look(Unit, "the state of slurmctld from systemd", unit=_UNIT, paths=[]).active not in (*UP, "activating"):
        this_host().noop("slurmctld does not run here")
        return
    diffs.record([Change(Kind.SERVICE, _UNIT, (Aspect("stopped", "runs", note="jobs continue"),), "stop")])
    yield StringCommand(f"systemctl stop {_UNIT}")


@operation
def replaced(controllers: Sequence[str]) -> Commands:
    """Replace the key by the stored one and restart munge; refused if one of the hosts `controllers` has failed.

    Its slurmctld may still run, and would lose the messages of nodes with the new key.
    """
    failed = run_state().failed_hosts if executing() else ()
    if still := [name for name in controllers if named(name) in failed]:
        raise Refused(f"the key is not replaced: slurmctld may still run on {', '.join(still)}")
    diffs.record([Change(Kind.FILE, KEY, (Aspect("the new key", "the old key", note="replaced"),))])
    yield StringCommand(_REPLACE)


@operation
def accepted(by: str) -> Commands:
    """Have a munge credential of this node accepted by the host `by`; refused if it is not."""
    box: list[str] = []
    yield FunctionCommand(_show, (by, box), {})
    if not box:
        raise Refused(f"{by} does not accept munge credentials of this node: its key or its clock differs")


def _show(state: State, host: Host, name: str, box: list[str]) -> bool:
    """Append a text to `box` if host `name` accepts a credential of `host`."""
    # pyinfra passes state and host because of the names of these arguments
    judge = state.inventory.get_host(name, default=None)
    if judge is not None:
        with suppress(OSError, SSHException):
            with turn(host):
                made, credential = host.run_shell_command(StringCommand("munge", "-n"), print_output=False)
            with turn(judge):
                command = StringCommand("unmunge", "--output=/dev/null")
                good = made and judge.run_shell_command(command, print_output=False, _stdin=credential.stdout)[0]
            if good:
                box.append("accepted")
    return True
