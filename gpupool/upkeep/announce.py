"""The message of the day about maintenance, on the nodes where users log in."""

from concurrent.futures import ThreadPoolExecutor

from gpupool.errors import GpupoolError
from gpupool.remote.controller import Controller
from gpupool.shell import shell_file

PATH = "/etc/motd.d/gpupool-maintain"
_SCRIPT = shell_file(__package__, "announce.sh")
_SECONDS = 20.0
_AT_ONCE = 16


def announce(controller: Controller, text: str) -> dict[str, str]:
    """Write the message on all heads, or remove it (""); return the heads where that failed, with the reason."""
    heads = [node.name for node in controller.target.nodes if node.has("head")]

    def put(name: str) -> str:
        try:
            controller.output_on(name, "sh", "-c", _SCRIPT, "announce", PATH, stdin=text, seconds=_SECONDS)
        except GpupoolError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return {name: why for name, why in zip(heads, pool.map(put, heads), strict=True) if why}
