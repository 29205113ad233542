"""Debian packages: one apt-get for all that is missing, and no service starts because of it."""

import shlex
from collections.abc import Generator

from pyinfra.api.command import StringCommand
from pyinfra.api.operation import operation

from gpupool import unix as unix_names
from gpupool.facts.packages import POLICY_MARK, Packages
from gpupool.operations import diffs
from gpupool.operations.ambient import this_host
from gpupool.operations.refusal import refuse
from gpupool.shell import shell_file, values

_PRELUDE = values(mark=POLICY_MARK) + shell_file(__package__, "packages.sh")


@operation()
def installed(packages: list[str]) -> Generator[StringCommand, None, None]:
    """Install the packages that are missing, without recommended ones, and finish what dpkg was left in the middle of.

    Names are exact Debian package names; versions are never changed. No service starts or restarts because of the
    installation, and configuration files that are there already are kept. Lists are refreshed when they are older
    than a day, or when the installation fails without.
    """
    if wrong := [package for package in packages if not unix_names.PACKAGE.fullmatch(package)]:
        yield from refuse(f"{wrong[0]!r} is not a valid Debian package name")
        return
    state = this_host().get_fact(Packages, packages=sorted(set(packages)))
    if state is None:
        yield from refuse("cannot read the installed packages: no answer from dpkg-query within 60 s")
        return
    missing = [package for package in dict.fromkeys(packages) if package not in state.installed]
    changes: dict[str, str | None] = dict.fromkeys(missing)
    if state.unfinished:
        changes["dpkg --configure -a"] = "an earlier installation was interrupted\n"
    if state.leftover:
        changes["/usr/sbin/policy-rc.d"] = "will be removed: left by a run that was killed\n"
    diffs.record(changes)
    if not changes:
        this_host().noop(f"packages {', '.join(packages)}: installed")
        return
    script = [_PRELUDE.strip()]
    if state.unfinished or missing:
        script.append("fresh || update || :")
        # an earlier run may still be at work: what it left is known only now, under the lock
        script.append('[ -z "$(dpkg --audit)" ] || mend')
    if missing:
        script.append(f"get {shlex.join(missing)}")
    yield StringCommand("\n".join(script))
