"""The client of a user directory on a node: NSS and PAM ask sssd, and sssd has its password."""

from gpupool.change import Aspect, Kind
from gpupool.facts.directory import Client
from gpupool.operations.ambient import this_host
from gpupool.operations.frame import WAITS, Commands, Refused, look, operation
from gpupool.operations.work import Work
from gpupool.shell import shell_file

_PRELUDE = shell_file(__package__, "directory.sh")


@operation
def asked(password: str) -> Commands:
    """Have nsswitch.conf and PAM ask sssd, in PAM with Debian's pam-auth-update; other entries are not changed."""
    state = look(Client, "nsswitch.conf and PAM", password=password)
    work = Work(Kind.FILE)
    for database in ("passwd", "group"):
        if database not in state.nss:
            work.do(f"/etc/nsswitch.conf: {database}", Aspect("sss is asked after files"), "ask", database)
    if not state.pam:
        work.do("/etc/pam.d/common-auth", Aspect("pam_sss is asked after pam_unix"), "authenticate")
    yield from work.carry_out("nsswitch.conf and PAM: sssd is asked", _PRELUDE)


@operation
def has_password(path: str, dn: str) -> Commands:
    """Fail if a node lacks the password file that an admin has to write, or if other users may read it."""
    state = look(Client, "the password of the directory", password=path)
    if state.password is None:
        raise Refused(
            f"there is no password of {dn} on this node, so no user of the directory is known: write {path}, "
            "mode 0600, with the lines [domain/directory] and ldap_default_authtok = PASSWORD",
            WAITS,
        )
    owner, mode = state.password
    if owner != "root" or int(mode, 8) & 0o137:
        raise Refused(f"{path} has owner {owner} and mode {mode}: chown root:root {path} && chmod 0600 {path}", WAITS)
    this_host().noop("the password of the directory is on the node")
    yield from ()
