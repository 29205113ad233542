"""The example's testbed for plain pyinfra, with empty nodes instead of SSH."""

from empty_nodes import EmptyNode as _EmptyNode
from empty_nodes import testbed as _testbed

from gpupool.engine import ssh as _ssh

# the entry point of the connector "pool" refers to this name
_ssh.PoolSSH = _EmptyNode  # type: ignore[misc, assignment]

nodes = [(f"@pool/{host.name}", dict(host.data)) for host in _testbed("example").hosts]
