"""The names of distributions in an inventory: each release by its label, and by the name of its suite."""

from typing import Literal

Label = Literal[
    "debian-12", "debian-13", "debian-sid", "ubuntu-22.04", "ubuntu-24.04", "ubuntu-26.04", "dgx-os-6", "dgx-os-7"
]  # fmt: skip
Suite = Literal["bookworm", "trixie", "sid", "jammy", "noble", "resolute"]
NodeSystem = Literal[Label, Suite]
DEFAULT_SYSTEM: NodeSystem = "debian-13"
