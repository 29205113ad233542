"""Debian packages: one apt-get for all that is missing, and no service starts because of it."""

import shlex
from collections.abc import Generator

from pyinfra.api.command import StringCommand
from pyinfra.api.operation import operation

from gpupool import unix_names
from gpupool.facts.packages import POLICY_MARK, Packages
from gpupool.operations import diffs
from gpupool.operations.ambient import this_host
from gpupool.operations.refusal import refuse

# Output goes to a file on the node: when our connection dies in the middle, dpkg is not killed by a broken pipe.
_PRELUDE = rf"""
set -eu
export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 LC_ALL=C.UTF-8
policy=/usr/sbin/policy-rc.d log=/var/log/gpupool-packages.log
restore() {{
  if grep -qsF '{POLICY_MARK}' "$policy"; then rm -f "$policy"; fi
  if [ -e "$policy.gpupool-kept" ]; then mv -fT "$policy.gpupool-kept" "$policy"; fi
}}
say() {{ tail -n 30 "$log" >&2; printf '%s\n' "$1: $(grep -E '^(E|dpkg|dpkg-deb): ' "$log" | head -n 1)" >&2; exit 1; }}
apt() {{ apt-get -q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold -o Dpkg::Use-Pty=0 "$@" >>"$log" 2>&1 </dev/null; }}
update() {{ # a mirror that does not answer is a warning to apt, which then calls the packages unknown
  length=$(wc -c <"$log"); away=
  apt -o APT::Update::Error-Mode=any update && return
  away=$(tail -c "+$((length + 1))" "$log" | grep -E '^(E|W): ' | head -n 1)
  away="apt-get update: ${{away:-failed without a word}}"; return 1
}}
get() {{ # the lists that are there may do, whatever the mirrors say; where they do not, what the mirrors say is the reason
  apt install --no-install-recommends -- "$@" && return
  [ -n "$away" ] || {{ update && apt install --no-install-recommends -- "$@" && return; }}
  # LC_ALL is C here
  [ -z "$away" ] || ! tail -n 5 "$log" | grep -q 'Unable to locate\|nable to fetch\|ailed to fetch\|no installation candidate' || {{
    tail -n 30 "$log" >&2; printf '%s\n' "no mirror to install $* from: $away" >&2; exit 1
  }}
  say 'apt-get install'
}}
away=
mend() {{
  dpkg --force-confold --configure -a >>"$log" 2>&1 </dev/null || :
  torn=$(dpkg-query -W -f='${{db:Status-Eflag}} ${{Package}}:${{Architecture}}\n' | sed -n 's/^reinstreq //p')
  [ -z "$torn" ] || apt install --reinstall -- $torn || say 'apt-get install --reinstall'
  apt -f install || say 'apt-get -f install'
}}
fresh() {{ [ -n "$(find /var/lib/apt/lists /var/lib/apt/lists/partial -maxdepth 0 -mmin -1440 2>/dev/null)" ] &&
  [ -n "$(find /var/lib/apt/lists -maxdepth 1 -name '*_Packages*' 2>/dev/null | head -n 1)" ]; }}
: >"$log"
exec 9>/var/lib/gpupool-packages.lock; flock -w 600 9 || {{ echo 'another installation is running' >&2; exit 1; }}
restore
trap restore EXIT
if [ -e "$policy" ]; then mv -fT "$policy" "$policy.gpupool-kept"; fi
printf '#!/bin/sh\n# {POLICY_MARK}\nexit 101\n' >"$policy"; chmod 755 "$policy"
"""  # noqa: E501


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
