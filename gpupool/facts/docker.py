"""The running containers of Docker."""

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask


class Containers(Fact[dict[str, str]]):
    """The images of the running containers, by the container's name; none if dockerd does not run."""

    def command(self) -> StringCommand:
        """Ask dockerd only if it runs: its socket would start it. After an error there is no answer."""
        return ask(
            "systemctl is-active --quiet docker.service || set --\n"
            "[ $# -eq 0 ] || docker ps --format '{{.Names}}\t{{.Image}}' || exit 1",
            "runs",
        )

    def read(self, lines: list[str]) -> dict[str, str]:
        """Read the answer."""
        return {name: image for name, _, image in (line.partition("\t") for line in lines)}
