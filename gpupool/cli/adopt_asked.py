"""The answers of nodes to `gpupool adopt --from`."""

from pathlib import Path
from typing import TYPE_CHECKING

from gpupool.terminal import Screen
from gpupool.wording import counted, shortened

if TYPE_CHECKING:
    from gpupool.adopt.asked import Ask, Asked
    from gpupool.adopt.controller import Running


def show(login: str, running: "Running", files: Path, how: "Ask", screen: Screen) -> "list[Asked]":
    """Ask nodes of the cluster of which `files` is a copy, as the user of the controller; print and return answers."""
    from gpupool.adopt import asked, slurm_conf
    from gpupool.adopt.controller import door
    from gpupool.adopt.folder import Folder
    from gpupool.remote.nodes import Nodes

    lines = asked.chosen(slurm_conf.read(Folder(files)), how, running.silent)
    if not lines:
        return []
    with Nodes.at(door(login)[0], asked.addresses(lines)) as nodes:
        answers = asked.ask_all(nodes, lines)
    _print(answers, screen)
    return answers


def _print(answers: "list[Asked]", screen: Screen) -> None:
    good = [one for one in answers if not one.failure]
    screen.print(f"asked  {counted(len(answers), 'node')}: {len(good)} answered")
    _grouped(screen, "no answer", {one.node: (one.failure,) for one in answers if one.failure}, "yellow")
    _grouped(screen, "slurm.conf", {one.node: (one.source,) for one in good}, None)
    _grouped(screen, "slurmd -G", {one.node: one.gres for one in good}, None)
    _grouped(screen, "mounted", {one.node: one.mounts for one in good}, None)
    _grouped(screen, "differs", {one.node: one.differences for one in good}, "yellow")


def _grouped(screen: Screen, what: str, texts: dict[str, tuple[str, ...]], style: str | None) -> None:
    """Print each text once, with the nodes that have it."""
    nodes: dict[str, list[str]] = {}
    for node, lines in texts.items():
        for line in lines:
            nodes.setdefault(line, []).append(node)
    for line, names in nodes.items():
        screen.print(f"       {what}: {shortened(names)}: {line}", style=style)
