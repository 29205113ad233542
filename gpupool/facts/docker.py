"""What runs in docker."""

from pyinfra.api.command import StringCommand

from gpupool.facts.look import Look
from gpupool.facts.script import ask


class Containers(Look[dict[str, str]]):
    """The running containers by name, with their images. A dockerd that does not run has none, and is not started."""

    def command(self) -> StringCommand:
        """Ask a dockerd that runs; the socket would start another. One that gives an error has not answered."""
        return ask(
            "systemctl is-active --quiet docker.service || set --\n"
            "[ $# -eq 0 ] || docker ps --format '{{.Names}}\t{{.Image}}' || exit 1",
            "runs",
        )

    def read(self, lines: list[str]) -> dict[str, str]:
        """Read the answer."""
        return {name: image for name, _, image in (line.partition("\t") for line in lines)}
