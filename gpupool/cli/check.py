"""`gpupool check`: report all problems of an inventory."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpupool.cli.screen import Inventory, Json, With, print_json, stdout
from gpupool.cluster.complaints import BadInventoryError, Located, dotted
from gpupool.documents.inventory import CheckDocument, ComplaintEntry

if TYPE_CHECKING:
    from gpupool.cluster.model import Cluster

_STYLE = {"error": "red", "warning": "yellow", "info": "dim"}
_ORDER = tuple(_STYLE)


def command(inventory: Inventory, change: With = None, as_json: Json = False) -> None:
    """Report every problem in an inventory. Exit code 2 if it has errors.

    Only files are read, with those of its folder `rehearsal`; no node is contacted.

    Changes: nothing.

    Examples:
      gpupool check my-site
      gpupool check my-site --with new-lab.yml
    """
    from gpupool.cluster.load import examine

    loaded = examine(inventory, change)
    of_site = [*_of_site(inventory, loaded.cluster), *_of_accounting(inventory, loaded.cluster)]
    errors, complaints = [*loaded.errors, *of_site], [*loaded.complaints, *of_site]
    if as_json:
        print_json(CheckDocument(ok=not errors, complaints=[as_entry(complaint) for complaint in complaints]))
    else:
        stdout.print(_summary(errors, complaints, loaded.partial), style="red" if errors else "green")
        for problem in sorted(complaints, key=lambda located: _ORDER.index(located.complaint.severity)):
            if problem.complaint.accepted is None:
                stdout.print(_line(problem), style=_STYLE[problem.complaint.severity])
        if cluster := loaded.cluster:
            nodes, gpus = len(cluster.nodes), cluster.total_gpus
            cpus = sum(node.cpus for node in cluster.having("compute"))
            size = f"{nodes} nodes, {len(cluster.having('compute'))} of them compute: {gpus} GPUs, {cpus} CPUs"
            labs = sum(account.entry.kind == "lab" for account in cluster.accounts.values())
            stdout.print(f"{cluster.name}: {size}; {labs} labs, {len(cluster.partitions)} partitions")
    if errors:
        raise SystemExit(2)


def _of_site(inventory: Path, cluster: "Cluster | None") -> list[Located]:
    """Return the complaints about the site's own promises, which only a rehearsal reads; also without a Cluster."""
    from gpupool.rehearsal.scenarios.read import scenarios

    try:
        scenarios(inventory, cluster)
    except BadInventoryError as bad:
        return bad.located
    return []


def _of_accounting(inventory: Path, cluster: "Cluster | None") -> list[Located]:
    """Return where `slurm/accounting.cfg` does not agree with the inventory."""
    if cluster is None:
        return []
    from gpupool.cluster.accounting_file import FILE

    if FILE not in cluster.attached:
        return []
    from gpupool.compile.slurm.accounting import of_words
    from gpupool.compile.slurm.site_accounting import disagreements

    found = disagreements(cluster, of_words(cluster))
    return [replace(each, place=replace(each.place, file=str(inventory / each.place.file))) for each in found]


def _summary(errors: list[Located], complaints: list[Located], partial: bool) -> str:
    warnings = [located.complaint for located in complaints if located.complaint.severity == "warning"]
    accepted = sum(warning.accepted is not None for warning in warnings)
    count = len(warnings) - accepted
    first = f"{len(errors)} {'error' if len(errors) == 1 else 'errors'}" if errors else "no errors"
    more = " (there may be more after these errors are corrected)" if partial else ""
    others = f", {accepted} accepted" if accepted else ""
    return f"{first}, {count} {'warning' if count == 1 else 'warnings'}{others}{more}"


def _line(located: Located) -> str:
    """Return the line of a complaint; a warning ends with the code by which the inventory can accept it."""
    return f"{located} [{located.complaint.code}]" if located.complaint.severity == "warning" else str(located)


def as_entry(located: Located) -> ComplaintEntry:
    """Return a complaint as an entry of a document."""
    complaint = located.complaint
    return {
        "file": located.place.file,
        "line": located.place.line,
        "path": dotted(complaint.path),
        "severity": complaint.severity,
        "code": complaint.code,
        "accepted": complaint.accepted,
        "words": complaint.message,
        "hint": complaint.hint,
    }
