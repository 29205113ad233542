"""Random jobs, submitted and changed: the submit plugin answers each of them as that of another commit does.

The jobs have the fields that slurmctld gives to the plugin. Both plugins run in the same release of Lua, for every
inventory of this repository and for clusters that together use every rule.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import astuple
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "shared"))

from fuzz_jobs import Jobs  # noqa: E402
from submitted import ALL, LUAS, REPLACES, Answer, Plugin, pool  # noqa: E402

from gpupool.cluster.load import load  # noqa: E402
from gpupool.cluster.model import Cluster  # noqa: E402
from gpupool.compile.slurm.budgets import FILE  # noqa: E402
from gpupool.compile.slurm.submit import job_submit_lua  # noqa: E402

_RENDER = """
import json, sys
from pathlib import Path
from gpupool.cluster.load import load
from gpupool.compile.slurm.submit import job_submit_lua
print(json.dumps([job_submit_lua(load(Path(folder))) for folder in sys.argv[1:]]))
"""
_FRAGMENT = """function slurm_job_submit(job)
  if job.cpus_per_task == 3 then job.comment = "three" elseif job.num_tasks == 3 then error("three") end
end
function slurm_job_modify(job)
  if job.cpus_per_task == 3 then return slurm.ESLURM_ACCOUNTING_POLICY end
end
"""
_MINUTES = {
    "name: red, kind: lab,": "name: red, kind: lab, limits: {group_minutes: {gpu: 90000}},",
    "name: blue, kind: lab,": "name: blue, kind: lab, limits: {per_job: {wall: 3h}, per_user_minutes: {cpu: 90000}},",
}
_GUESTS = {
    "normal: {default: true}": "normal: {default: true, preempts: [guest]}\n  guest: {preemptable: true}",
    "short: {max_wall: 2d}": "short: {max_wall: 2d, preempts: [guest]}",
    "long: {max_wall: 7d}": "long: {max_wall: 7d, preempts: [guest]}",
    "limits: {per_user: {gpu: 4}}": "preempts: [guest], limits: {per_user: {gpu: 4}}",
    "preemptable: true, grace: 1m": "qos: [guest]",
}
_PLACES = {
    "name: long, nodes": "name: long, without_gpu: short, default_qos: long, default_time: 1h, nodes",
    "name: debug, nodes": "name: debug, without_gpu: refuse, users: assigned, default_cpus_per_gpu: 4, nodes",
    "default_partition: debug}": "default_partition: short, partitions: [debug]}",
    "  - {name: n1,": "  - {name: c1, address: 10.90.3.1, roles: [compute], hardware: box}\n  - {name: n1,",
    '{name: red-only, nodes: "@compute",': '{name: red-only, nodes: "c1",',
}
_PRICES = {
    "name: red, kind: lab,": "name: red, kind: lab, budget: 100,",
    "name: long, nodes": "name: long, exclusive: job, billing: {cpu: 0.5, gpus: {2080_ti: 10, a40: 2}}, nodes",
    "name: short, nodes": "name: short, default_time: 1h, billing: {cpu: 1.5, gpu: 3, mem: 0.25}, nodes",
}
_BROKEN = {"partitions:\n": "out_of_service: [{nodes: n1, gpus: [0], reason: fan}]\npartitions:\n"}
_MOST = "max_cpus_per_gpu: {default: 7, a40: 15}, default_cpus_per_gpu: {default: 6, a40: 8}"
#: Clusters with features that no inventory here has: the keys of `scheduler`, and the arguments of `pool`.
_MADE: dict[str, tuple[str, dict[str, Any]]] = {
    "made-all": (f"{ALL}, {_MOST}", {"replaces": REPLACES, "where": "per_user", "instead": _PLACES}),
    "made-fit": (f"{ALL}", {"where": "fit", "instead": _GUESTS | _MINUTES | _BROKEN}),
    "made-whole": (f"{ALL}, {_MOST}", {"instead": {"name: long, nodes": "name: long, exclusive: job, nodes"}}),
    "made-prices": ("export_fix: true", {"where": "none", "replaces": REPLACES, "instead": _PRICES}),
}


def clusters(folder: Path) -> dict[str, Path]:
    """Return the inventories that both commits compile, by name; made-up ones are written to a folder."""
    shipped = (*(ROOT / "inventory").glob("*/inventory.py"), *(ROOT / "inventory" / "others").glob("*/inventory.yml"))
    found = {path.parent.name: path.parent for path in sorted(shipped)}
    for name, (scheduler, more) in _MADE.items():
        found[name] = folder / name
        found[name].mkdir()
        pool(found[name], scheduler, **more)
    (folder / "made-all" / "slurm").mkdir()
    (folder / "made-all" / "slurm" / "job_submit.lua").write_text(_FRAGMENT)
    return found


def rendered(commit: str, folders: list[Path], work: Path) -> list[str | None]:
    """Return the submit plugins that gpupool of a commit compiles from inventories."""
    (work / "then").mkdir()
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", work / "then"], input=archive, check=True)
    command = [sys.executable, "-c", _RENDER, *map(str, folders)]
    output = subprocess.run(command, cwd=work / "then", check=True, capture_output=True, text=True).stdout
    plugins: list[str | None] = json.loads(output)
    return plugins


def differences(
    texts: tuple[str, str], cluster: Cluster, most: int, pick: random.Random
) -> tuple[Counter[str], list[str]]:
    """Return the number of jobs by outcome, and the jobs with different answers of the two plugins."""
    jobs, outcomes, wrong = Jobs(cluster, pick), Counter[str](), []
    times = {name: pick.choice([20, 240, 2880, 10080, 2**32 - 1]) for name in cluster.partitions}
    # the first is the default partition
    partitions = dict(sorted(times.items(), key=lambda item: not cluster.partitions[item[0]].default))
    for lua in LUAS:
        plugins = [Plugin(text, lua, partitions) for text in texts]
        for number in range(most // len(LUAS)):
            if number % 2:
                change, record = jobs.changed()
                uid = pick.choice([20001, 20001, 20001, 0])
                answers = [plugin.modify(change, record, uid) for plugin in plugins]
                job = f"{change} of {record} by {uid}"
            else:
                fields, exported = jobs.submitted(), pick.choice(["ALL", "NONE", "x=1", "x=1,ALL"])
                answers = [plugin.submit(environment={"SLURM_EXPORT_ENV": exported}, **fields) for plugin in plugins]
                job = f"{fields} with {exported}"
            outcomes[("change " if number % 2 else "job ") + _outcome(answers[1])] += 1
            if _compared(answers[0]) != _compared(answers[1]):
                wrong.append(f"{job}: {answers[0]}, now {answers[1]}")
    return outcomes, wrong


def _compared(answer: Answer) -> tuple[Any, ...]:
    # the log names the rule and the line of an error
    return (*astuple(answer)[:4], bool(answer.logged), answer.nice)


def _outcome(answer: Answer) -> str:
    if not answer.accepted:
        return "refused"
    return "warned" if answer.told else "altered" if answer.set or answer.nice or answer.environment else "unchanged"


def _usage(cluster: Cluster) -> str:
    """Return a file of budgets: some accounts have little left."""
    lines = (
        f"{account.lower()}\t\t{account}\t360000\t{90000 * (number % 5)}\t14400"
        for number, account in enumerate(cluster.accounts)
    )
    return "\n".join((str(int(time.time())), *lines)) + "\n"


def main() -> int:
    """Compare as the command line requests; return the exit code."""
    parser = argparse.ArgumentParser(prog="script/fuzz --plugin", description=__doc__)
    parser.add_argument("commit", help="the other plugin is that of this commit")
    parser.add_argument("most", nargs="?", type=int, default=5000, help="jobs and changes for each cluster (5000)")
    parser.add_argument("seed", nargs="?", type=int, default=1, help="of the choices (1)")
    asked = parser.parse_args()
    failed, rules = False, set[str]()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        folders, usage = clusters(work), work / "usage"
        olds = rendered(asked.commit, [*folders.values()], work)
        for (inventory, folder), old in zip(folders.items(), olds, strict=True):
            cluster = load(folder)
            new = job_submit_lua(cluster)
            if old is None or new is None:
                failed |= old != new
                print(f"{inventory}: {'no plugin' if old == new else 'only one commit has a plugin'}")
                continue
            usage.write_text(_usage(cluster))
            texts = (old.replace(FILE, str(usage)), new.replace(FILE, str(usage)))
            rules |= {*Plugin(new, LUAS[0]).rules}
            outcomes, wrong = differences(texts, cluster, asked.most, random.Random(f"{asked.seed}-{inventory}"))
            failed |= bool(wrong)
            counts = ", ".join(f"{count} {what}" for what, count in sorted(outcomes.items()))
            print(f"{inventory}: {len(wrong)} differences; {counts}", *wrong[:3], sep="\n  ", flush=True)
    print(f"{len(rules)} rules: {', '.join(sorted(rules))}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
