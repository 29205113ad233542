"""The cost of the arbiter and its guard: submissions while they run, slurmctld's CPU, and a cycle with a full queue."""

import json
import shlex
import statistics
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from gpupool.cluster.load import load
from gpupool.compile.programs import HOME
from gpupool.compile.slurm import arbiter as compiled_arbiter
from gpupool.rehearsal.twin import Twin, boot, compiled

PAIRS, SECONDS, RATE = 7, 30, 10_000 / 3600
HELD, WAITING, ROUNDS = 9, 4, 5  # arrays of held jobs, arrays of pending jobs, cycles
# a user may have 2,000 jobs: two arrays and two jobs more
_IN_AN_ARRAY = 999

# Submits small jobs of several users at a constant rate. Prints the seconds of each sbatch and slurmctld's CPU seconds.
_SUBMIT = """
import json, os, subprocess, sys, time
from pathlib import Path
seconds, rate, *users = json.loads(sys.argv[1])
command = ["sbatch", "-p", "long", "-t", "5", "-c", "1", "--mem=1G", "-o", "/dev/null", "--wrap", "true"]

def cpu():
    pids = subprocess.run(["pgrep", "-x", "slurmctld"], capture_output=True, text=True).stdout.split()
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(field[11]) + int(field[12]) for field in fields) / os.sysconf("SC_CLK_TCK")

os.chdir("/tmp")
before, began, took = cpu(), time.monotonic(), []
for number in range(round(seconds * rate)):
    time.sleep(max(0.0, began + number / rate - time.monotonic()))
    start = time.monotonic()
    subprocess.run(command, user=users[number % len(users)], check=True, stdout=subprocess.DEVNULL)
    took.append(time.monotonic() - start)
time.sleep(max(0.0, began + seconds - time.monotonic()))
print(json.dumps([took, cpu() - before]))
"""

# Runs cycles of the arbiter. Prints the CPU seconds of each: of the arbiter, and of Slurm's commands that it runs.
_ROUNDS = """
import json, resource, sys
from arbiter import __main__ as service

def cpu(whose):
    used = resource.getrusage(whose)
    return used.ru_utime + used.ru_stime

arbiter, costs = service.Arbiter(service.settings_of(sys.argv[1])), []
for _ in range(int(sys.argv[2])):
    before = [cpu(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    arbiter.cycle()
    costs.append([cpu(resource.RUSAGE_SELF) - before[0], cpu(resource.RUSAGE_CHILDREN) - before[1]])
print(json.dumps(costs))
"""


@dataclass(frozen=True)
class Window:
    """The result of a period of submissions: the 95th percentile of sbatch and slurmctld's CPU, in seconds."""

    p95: float
    cpu: float


def arbiter(out: Console, inventory: Path) -> None:
    """Measure in a twin of the inventory at full size, with the arbiter's settings of production."""
    cluster = load(inventory)
    with Twin.start(cluster) as twin:
        settings = shlex.quote(json.dumps(compiled_arbiter.settings(cluster)))
        twin.do(f"{_END}\nprintf %s {settings} > {compiled_arbiter.SETTINGS}", "the arbiter's settings")
        _submissions(out, twin)
        _full_queue(out, twin)


_END = "pkill -f 'python3 .* -m arbiter'; while pgrep -f 'python3 .* -m arbiter'; do sleep 0.1; done >/dev/null"


def _submissions(out: Console, twin: Twin) -> None:
    start = boot.service(compiled(twin.cluster).files[compiled_arbiter.UNIT])
    pairs = []
    for number in range(PAIRS):
        pair = {}
        for guarded in (True, False) if number % 2 else (False, True):
            twin.do(start if guarded else _END, "the arbiter")
            pair[guarded] = _window(twin)
            twin.do(_END, "the end of the arbiter")
        pairs.append((pair[False], pair[True]))
    table = Table("", "without", "with", "ratio", box=None, pad_edge=False, header_style="bold")
    for name, key, factor in (("sbatch p95, ms", "p95", 1000), ("slurmctld CPU, s", "cpu", 1)):
        without, beside = ([getattr(pair[side], key) for pair in pairs] for side in (0, 1))
        ratios = sorted(b / a for a, b in zip(without, beside, strict=True))
        medians = (f"{factor * statistics.median(values):.2f}" for values in (without, beside))
        table.add_row(name, *medians, f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
    rate = f"{RATE * 3600:,.0f} jobs an hour"
    out.print(f"\n[bold]the arbiter[/]: {rate}, {PAIRS} alternated pairs of {SECONDS} s, medians", table, sep="\n")


def _window(twin: Twin) -> Window:
    users = [user.name for user in twin.cluster.users.values() if user.account][:8]
    values = shlex.quote(json.dumps([SECONDS, RATE, *users]))
    took, cpu = json.loads(twin.do(f"python3 - {values} <<'PROGRAM'\n{_SUBMIT}PROGRAM", "submissions").out)
    return Window(statistics.quantiles(took, n=20)[-1], cpu)


def _full_queue(out: Console, twin: Twin) -> None:
    """Fill the queue with a record for each task, and run cycles."""
    twin.clear()
    labs = {user.account: user.name for user in twin.cluster.users.values() if user.account}
    users = list(labs.values())
    array = f"sbatch --parsable --array=1-{_IN_AN_ARRAY} -t 60 -o /dev/null"
    small = array.replace(f"1-{_IN_AN_ARRAY}", "1-2")
    held = [f"runuser -u {users[n % len(users)]} -- {array} -H -p long" for n in range(HELD)]
    lab = max(labs, key=lambda name: twin.cluster.accounts[name].limits.group.gpu or 0)
    mates = [user.name for user in twin.cluster.users.values() if user.account == lab]
    waits = [f"runuser -u {mates[n % len(mates)]} -- {array} -p short --gres=gpu:1" for n in range(WAITING)]
    spill = f"runuser -u {mates[0]} -- {small} -p user-overcap --gres=gpu:1"
    lines = [f"{line} --wrap 'sleep 900'" for line in (spill, *held, *waits)]
    # a change of single tasks gives each a separate record
    split = f'for job in $jobs; do scontrol update jobid="${{job}}_[1-{_IN_AN_ARRAY - 1}]" nice=5 || true; done'
    twin.do(
        "cd /tmp\n" + "\n".join([*lines[:1], "sleep 10", *(f'jobs="$jobs $({line})"' for line in lines[1:]), split]),
        "a full queue",
    )
    shown = twin.do("squeue -h -t PD | wc -l", "squeue").out.strip()
    command = f"runuser -u slurm -- env PYTHONPATH={HOME} python3 -B - {compiled_arbiter.SETTINGS} {ROUNDS}"
    costs = json.loads(twin.do(f"cd /tmp; {command} <<'PROGRAM'\n{_ROUNDS}PROGRAM", "cycles").out.splitlines()[-1])
    table = Table("CPU s a round", "median", "most", box=None, pad_edge=False, header_style="bold")
    for name, column in (("the arbiter", 0), ("squeue and scontrol", 1)):
        values = [cost[column] for cost in costs]
        table.add_row(name, f"{statistics.median(values):.2f}", f"{max(values):.2f}")
    out.print(f"\n[bold]a round of the arbiter[/]: {shown} pending records, {ROUNDS} rounds", table, sep="\n")
