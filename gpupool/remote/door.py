"""How gpupool logs in: to the nodes of an inventory, or to a machine of which there is no inventory yet."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from gpupool.cluster.schema.access import AdminSsh
    from gpupool.testbed.state import State


class Door(Protocol):
    """The settings of SSH for some machines: those of a testbed, or those of `access.admin`."""

    @property
    def testbed(self) -> "State | None":
        """The testbed on this machine; None for real machines."""

    @property
    def admin(self) -> "AdminSsh":
        """The admin's user, port and key."""

    @property
    def environment(self) -> str:
        """Lines of sh before each script on these machines."""


@dataclass(frozen=True)
class Machine:
    """A machine that no inventory has, reached by the admin's own SSH configuration."""

    admin: "AdminSsh"
    testbed: "State | None" = None
    environment: str = ""
