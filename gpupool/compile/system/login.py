"""Variables that the inventory gives to login shells."""

import re
import shlex
from collections.abc import Iterator

from gpupool.cluster.model import Cluster, Node
from gpupool.compile.template import fill
from gpupool.wanted import File

PROFILE = "/etc/profile.d/gpupool-environment.sh"
_PLACEHOLDER = re.compile(r"(\{user\}|\{account\})")


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield what login shells read, where people work."""
    if cluster.environment.login and node.has("head", "compute"):
        values = {name: _shell(value) for name, value in cluster.environment.login.items()}
        yield File(PROFILE, fill("login.sh", cluster=cluster, values=values))


def _shell(value: str) -> str:
    """Return a value as a shell reads it: its placeholders are variables, all else is plain text."""
    parts = [part for part in _PLACEHOLDER.split(value) if part]
    return "".join(f'"$gpupool_{part[1:-1]}"' if _PLACEHOLDER.fullmatch(part) else shlex.quote(part) for part in parts)
