"""`gpupool adopt`: an inventory from the files of a cluster that runs already."""

import tempfile
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated

import typer

from gpupool.adopt.asked import Ask
from gpupool.cli import adopt_asked, adopt_back, adopt_steps
from gpupool.cli.adopt_document import Seen, document
from gpupool.cli.screen import Json, OnOption, print_json, stderr, stdout
from gpupool.errors import UsageError
from gpupool.slurm.hostlists import expanded
from gpupool.slurm.releases import DEFAULT, KNOWN, Known
from gpupool.terminal import Screen
from gpupool.wording import counted

if TYPE_CHECKING:
    from gpupool.adopt.accounting import Proof
    from gpupool.adopt.controller import Running
    from gpupool.adopt.inventory import Adopted
    from gpupool.adopt.judged import Verdict

_FATES = {
    "taken": "taken",
    "kept": "kept in Slurm's words",
    "same": "the same without a key",
    "not taken": "not taken",
}


def command(
    folder: Annotated[
        Path,
        typer.Argument(
            help="The folder to create, such as my-site; with --steps, the inventory.",
            metavar="FOLDER",
            show_default=False,
        ),
    ],
    files: Annotated[
        Path | None,
        typer.Option(
            "--files", help="A copy of the cluster's /etc/slurm. It is only read.", metavar="DIR", show_default=False
        ),
    ] = None,
    controller: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="The running controller: one script reads it over SSH as root or with sudo, and writes nothing there.",
            metavar="[USER@]HOST",
            show_default=False,
        ),
    ] = None,
    ask: Annotated[
        Ask | None,
        typer.Option(
            "--ask",
            help="With --from: which nodes tell their hardware, GPUs and mounts over SSH; kinds: one of each line of "
            "nodes. Default: kinds.",
            show_default=False,
        ),
    ] = None,
    steps: Annotated[
        bool,
        typer.Option(
            "--steps", help="Show what gpupool could take over next in the inventory FOLDER, and change nothing."
        ),
    ] = False,
    back: Annotated[
        bool,
        typer.Option(
            "--back",
            help="Restore what the nodes of the inventory FOLDER had before gpupool: files, units, host name.",
        ),
    ] = False,
    slurm: Annotated[
        str | None,
        typer.Option(
            "--slurm",
            help=f"The cluster's release of Slurm; default: that of the controller, or {DEFAULT} for a copy of files.",
            metavar="VERSION",
            show_default=False,
        ),
    ] = None,
    judge: Annotated[
        bool,
        typer.Option("--judge", help="Let a slurmctld in a container read and compare the site's files and gpupool's."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --back: restore without asking first.")] = False,
    on: OnOption = "auto",
    as_json: Json = False,
) -> None:
    """Write an inventory of a cluster that runs already, and show how its slurm.conf would differ.

    In the inventory all nodes are `managed: false`, so other commands log in to none of them. Exit code 0: no
    difference, 3: some, 2: `check` refuses the inventory.

    Changes: nothing but the new folder; with --back, the nodes of the inventory.

    Examples:
      gpupool adopt --from root@controller my-site
      gpupool adopt --from root@controller my-site --ask all
      gpupool adopt --files copy-of-etc-slurm my-site
      gpupool adopt --files copy-of-etc-slurm my-site --slurm 23.11
      gpupool adopt --steps my-site
      gpupool adopt --files copy-of-etc-slurm my-site --judge
      gpupool adopt --back my-site
    """
    if steps or back:
        if (steps and back) or files or controller or ask or slurm or judge or as_json:
            raise UsageError(f"{'--steps' if steps else '--back'} reads the inventory: leave out the other options")
        if back:
            adopt_back.restore(folder, on, yes)
        else:
            adopt_steps.show(folder)
        return
    if yes:
        raise UsageError("--yes is only for --back: nothing else is asked")
    from gpupool.adopt.inventory import ensure_new

    if (files is None) == (controller is None):
        raise UsageError("name the source of the cluster's files: --from CONTROLLER or --files DIR")
    ensure_new(folder)
    if files is not None:
        if ask:
            raise UsageError("--ask is only for --from: a copy of files has no nodes")
        _adopt(folder, files, slurm, judge, as_json)
        return
    from gpupool.adopt.controller import copy_from
    from gpupool.facts.slurm_packages import release_of

    assert controller is not None
    with tempfile.TemporaryDirectory(prefix="gpupool-adopt-") as place:
        running = copy_from(controller, Path(place))
        screen = stderr if as_json else stdout
        _say_running(controller, running, screen)
        answers = adopt_asked.show(controller, running, Path(place), ask or "kinds", screen)
        seen = Seen(controller, running, answers)
        _adopt(folder, Path(place), slurm or release_of(running.release), judge, as_json, seen)


def _adopt(
    folder: Path,
    files: Path,
    release: str | None,
    judge: bool,
    as_json: bool,
    seen: Seen | None = None,
) -> None:
    from gpupool.adopt.folder import Folder
    from gpupool.adopt.inventory import adopted, write

    slurm, assumed = release or DEFAULT, not release
    if slurm not in KNOWN:
        raise UsageError(f"--slurm {slurm}: gpupool knows {', '.join(KNOWN)}; take the nearest")
    known: Known = KNOWN[KNOWN.index(slurm)]
    origin = str(PurePosixPath(seen.running.conf).parent) if seen else None
    result = adopted(Folder(files, origin), known, seen.running.places if seen else None)
    write(folder, result.files)
    verdict = None if result.differences is None else _judged(result, files, known, judge)
    if as_json:
        print_json(document(result, verdict, seen))
    else:
        _show(folder, result, verdict, known if assumed else "")
    if verdict is None:
        raise SystemExit(2)
    if verdict.differences or verdict.refused or (result.accounting and result.accounting.differ):
        raise SystemExit(3)


def _say_running(controller: str, running: "Running", screen: Screen) -> None:
    package = f"package {running.owner}" if running.owner != "none" else "no package"
    screen.print(f"from   {controller}: Slurm {running.release or 'of an unknown release'} ({package}), {running.conf}")
    for names, what in (
        (running.silent, "nodes that do not respond"),
        (running.reservations, "reservations, which stay as they are"),
        (running.not_read, "files that could not be read"),
    ):
        if names:
            screen.print(f"       {what}: {', '.join(names)}", style="yellow")


def _judged(result: "Adopted", files: Path, release: Known, asked: bool) -> "Verdict":
    from gpupool.adopt.folder import Folder
    from gpupool.adopt.judged import Verdict, by_slurmctld

    if not asked:
        return Verdict(result.differences or ())
    return by_slurmctld(result, Folder(files), release, lambda text: stderr.print(text, style="dim"))


def _show(folder: Path, result: "Adopted", verdict: "Verdict | None", assumed: str) -> None:
    conf = result.conf
    nodes = sum(len(expanded(entry.name)) for entry in conf.of("NodeName"))
    counts = f"{len(conf.settings)} settings, {nodes} nodes, {len(conf.of('PartitionName'))} partitions"
    stdout.print(f"read   {', '.join(result.read)}: {counts}")
    if assumed:
        stdout.print(f"       Slurm {assumed} is assumed: --slurm names another release")
    if result.others:
        stdout.print(f"       not read: {', '.join(result.others)}")
    for trouble in result.troubles:
        stdout.print(f"       {trouble}", style="yellow")
    fates: Counter[str] = Counter(fate.how for of in result.draft.fates.values() for fate in of)
    summary = ", ".join(f"{fates[how]} {words}" for how, words in _FATES.items() if fates[how])
    stdout.print(f"wrote  {folder}: {', '.join(result.files)}")
    stdout.print(f"       {summary}; adopted.tsv has each of them")
    if left := result.draft.data["slurm"].get("left"):
        stdout.print(f"left   {', '.join(left)}: the site's values of these groups stay; see --steps")
    if verdict is None:
        stdout.print("proof  none: `check` refuses the inventory", style="red")
        for located in result.loaded.errors:
            stdout.print(f"       {located.complaint.message}", style="red")
    else:
        _prove(verdict)
    if result.accounting:
        _prove_accounting(result.accounting)


def _prove_accounting(proof: "Proof") -> None:
    count = f"{len(proof.differ)} of {counted(proof.entities, 'line')}" if proof.entities else "no line"
    without = "" if proof.has_qos else "; the dump has no QoS, which stay as they are in slurmdbd"
    style = "yellow" if proof.differ else "green"
    stdout.print(f"       accounting: {count} of the dump would differ in slurmdbd{without}", style=style)
    for item in proof.differ:
        stdout.print(f"  {item}")


def _prove(verdict: "Verdict") -> None:
    from gpupool.adopt.causes import WHY

    differences = verdict.differences
    count = counted(len(differences), "difference")
    style = "yellow" if differences or verdict.refused else "green"
    judge = "by gpupool's own parser; slurmctld has not judged"
    if verdict.version:
        judge = f"by slurmctld {verdict.version}: {verdict.compared}"
    stdout.print(f"proof  {count}, {judge}", style=style)
    if verdict.why:
        stdout.print(f"       {verdict.why}", style="yellow")
    if verdict.refused:
        stdout.print(f"       slurmctld does not start with the inventory's files: {verdict.refused}", style="red")
    by_cause = dict.fromkeys((*WHY, *(one.cause for one in differences)))
    for cause in by_cause:
        of_cause = [one for one in differences if one.cause == cause]
        if of_cause:
            why = WHY.get(cause)
            stdout.print(f"\n{cause}: {why}" if why else f"\n{cause}")
        for one in of_cause:
            stdout.print(f"  {one}")
