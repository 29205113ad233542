"""A cluster that was built by hand, with 20 jobs: adopted, taken over step by step to labs with caps, and given back.

No job ends on the way, also if a command is killed, and in the end everything is as before.
"""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from pace import until

from gpupool.adopt.steps import steps
from gpupool.target import find_target
from tests.testbed.cluster import ROOT, Testbed, gpupool

BUILD = (Path(__file__).parent / "foreign_cluster.sh").read_text()
#: An inventory with a repository of SchedMD's packages; a testbed makes them itself.
SCHEDMD = ROOT / "tests" / "unit" / "compile" / "schedmd" / "inventory.yml"
NODES = {"ctl": "10.196.0.10", "login": "10.196.0.11", "g1": "10.196.0.21", "g2": "10.196.0.22"}
MACHINES = """\
schema: 1
cluster: {name: sea, domain: sea.example, network: 10.196.0.0/16}
gpu_types: {a40: {models: [A40]}}
hardware: {box: {cpus: 16, memory: 16G, gpu_slots: 4, cpus_kept_per_gpu: 2}}
nodes:
  - {name: ctl, roles: [controller, database], address: 10.196.0.10}
  - {name: login, roles: [head], address: 10.196.0.11}
  - {name: "g[1-2]", roles: [compute], hardware: box, gpus: {a40: 4}, address: "10.196.0.[21-22]"}
accounts: [{name: crew, kind: group, gid: 5001}]
qos: {normal: {default: true}}
partitions: [{name: all, nodes: "@compute", max_time: 1d}]
scheduler:
  default_partition: all
  default_memory: {per_gpu: 1G, per_cpu: 500M}
  max_memory: {per_gpu: 2G, per_cpu: 500M}
access: {keys: homes}
testbed: {nodes: "ctl,login,g[1-2]"}
"""
LABS = """\
accounts:
  - {name: fish, kind: lab, gid: 5001, contributed_gpus: 5}
  - {name: crab, kind: lab, gid: 5002, contributed_gpus: 3}
  - {name: overcap, kind: shared, members: all}
users:
  - {name: ann, uid: 20001, account: fish}
  - {name: bob, uid: 20002, account: crab}
access: {keys: homes}
"""
PARTITIONS = """\
partitions:
  - {name: all, nodes: "@compute", max_time: 1d, allow_accounts: [fish, crab]}
  - {name: deep, nodes: g2, max_time: 2d, tier: 5, allow_accounts: [fish]}
  - {name: overcap, nodes: "@compute", max_time: 1d, tier: 0, preemptable: true, allow_accounts: [overcap]}
"""
ROLES = [
    "slurm",
    "accounts",
    "compute",
    "controller",
    "database",
    "munge",
    "head",
    "drift",
    "arbiter",
    "jobs",
    "steps",
    "gpu",
]
FILES = {"gpu": "cluster.yml", "slurm": "slurm.yml", "partitions": "partitions.yml"}
ACCOUNTING = ("cluster", "qos", "assoc", "account withcoord", "user")
# what the cluster itself writes, while it runs
RUNS = (
    "var/lib/mysql srv/slurm/state srv/slurm/log srv/slurm/spool var/lib/systemd var/lib/munge var/log etc/ld.so.cache"
)
TREE = r"""cd /; {{ find etc srv usr opt root home var -xdev \( {left} \) -prune -o -type d -printf '%p %u:%g %m\n' \
  -o -printf '%p %y %u:%g %m %T@ %s %l\n'; systemctl list-unit-files --no-legend | grep -v ' transient '
  systemctl list-units --no-legend --plain --state=active --type=service,socket,timer | sed 's/ .*//' |
  grep -v 'session\|user'
  dpkg-query -W; getent passwd; getent group; hostname; }} | sort"""


@dataclass
class Foreign:
    """The cluster, the folder of its inventory, and the numbers of its jobs."""

    testbed: Testbed
    site: Path
    jobs: list[str]

    def out(self, node: str, command: str, user: str = "root") -> str:
        return self.testbed.out(node, command if user == "root" else f'runuser -u {user} -- sh -c "cd /tmp; {command}"')

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "tests.day2.as_adopted", *arguments, str(self.site), "--yes", "--on", "nodes"]

    def does(self, *arguments: str) -> str:
        """Run a command of gpupool to its end, and return its output."""
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, check=False, cwd=ROOT)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def killed(self, node: str, reached: str, *arguments: str) -> None:
        """Run a command of gpupool, and kill it when a command on a node succeeds."""
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(self.command(*arguments), cwd=ROOT, **quiet) as process:  # type: ignore[call-overload]
            until(lambda: self.testbed.run(node, reached).returncode == 0, reached)
            process.kill()
        self.jobs_run()

    def applies(self) -> str:
        """Apply; all jobs run, and nothing is left to change."""
        output = self.does("apply")
        self.jobs_run()
        plan = [*self.command("plan")]
        plan.remove("--yes")
        again = subprocess.run(plan, capture_output=True, text=True, check=False, cwd=ROOT)
        assert (again.returncode, "nothing to change" in again.stdout) == (0, True), again.stdout + again.stderr
        return output

    def jobs_run(self) -> None:
        assert self.out("ctl", "squeue -h -t R -o %i | sort -n").split() == self.jobs

    def change(self, file: str, path: str, value: Any = None) -> None:
        """Set a key of a file of the inventory, or remove it."""
        place = self.site / file
        data = yaml.safe_load(place.read_text())
        *upper, last = (int(key) if key.isdecimal() else key for key in path.split("."))
        above = data
        for key in upper:
            above = above[key]
        if value is None:
            del above[last]
        else:
            above[last] = value
        place.write_text(yaml.safe_dump(data, sort_keys=False))

    def state(self) -> dict[str, list[str]]:
        """Return files, units, packages, users and names of each node, and the accounting."""
        tree = TREE.format(left=" -o ".join(f"-path {path}" for path in RUNS.split()))
        kinds = {kind: f"sacctmgr -nP show {kind}" for kind in ACCOUNTING}
        nodes = {node: self.out(node, tree).splitlines() for node in NODES}
        return nodes | {kind: self.out("ctl", command).splitlines() for kind, command in kinds.items()}

    def has(self, job: str, state: str) -> bool:
        return self.out("ctl", f"squeue -h -j {job} -o %T || :") == state


@pytest.fixture(params=["slurmctld", "slurm-smd-slurmctld"])
def package(request: pytest.FixtureRequest) -> str:
    """The package of slurmctld: Debian's, or SchedMD's."""
    return str(request.param)


@pytest.fixture
def foreign(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Foreign]:
    """Four nodes with a Slurm cluster that gpupool did not build, and 20 jobs."""
    inventory = tmp_path / "machines"
    inventory.mkdir()
    (inventory / "cluster.yml").write_text(MACHINES)
    if package != "slurmctld":
        repositories = yaml.safe_load(SCHEDMD.read_text())["software"]["repositories"]
        data = {
            "slurm": {"packages": "schedmd", "repository": "ours-trixie"},
            "software": {"repositories": repositories},
        }
        (inventory / "packages.yml").write_text(yaml.safe_dump(data))
    try:
        done = gpupool("testbed", "up", inventory, "--yes")
        assert done.returncode == 0, done.stderr
        testbed = Testbed(inventory, find_target(inventory, "testbed"))
        key, hosts = (
            base64.b64encode(os.urandom(1024)).decode(),
            "\n".join(f"{at} {name}" for name, at in NODES.items()),
        )
        for node, part in (("ctl", "controller"), ("login", "login"), ("g1", "compute"), ("g2", "compute")):
            testbed.out(node, f"bash -s {part} {key} '{hosts}'", text=BUILD)
        assert testbed.target.testbed
        (tmp_path / ".ssh").mkdir()
        (tmp_path / ".ssh/config").write_text(Path(testbed.target.testbed.ssh_config).read_text())
        monkeypatch.setenv("HOME", str(tmp_path))
        own = Foreign(testbed, tmp_path / "site", [])
        for options in ("--gres gpu:1", "--gpus a40:2"):
            own.jobs.append(submit(own, "ann" if "gres" in options else "bob", options))
        for _ in range(6):
            own.jobs += [submit(own, "ann"), submit(own, "bob"), submit(own, "cid", "-p deep")]
        until(lambda: len(own.out("ctl", "squeue -h -t R").splitlines()) == len(own.jobs), "all jobs run")
        own.jobs.sort(key=int)
        yield own
    finally:
        monkeypatch.undo()
        gpupool("testbed", "down", inventory)


def submit(foreign: Foreign, user: str, options: str = "", script: str = "sleep 30000") -> str:
    return foreign.out("login", f"sbatch --parsable {options} -o /dev/null --wrap '{script}'", user)


def test_an_adopted_cluster_is_taken_over_in_steps_and_given_back_while_its_jobs_run(
    foreign: Foreign, package: str
) -> None:
    before = foreign.state()
    done = gpupool("adopt", "--from", "root@ctl", foreign.site)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "asked  1 node: 1 answered" in done.stdout
    assert "slurm.conf: g1: /etc/slurm/slurm.conf (" in done.stdout
    document = json.loads(gpupool("adopt", "--from", "root@ctl", foreign.site.with_name("again"), "--json").stdout)
    assert (document["controller"]["login"], document["controller"]["package"]) == ("root@ctl", package)
    assert [(node["node"], node["failure"]) for node in document["nodes"]] == [("g1", None)]
    assert foreign.state() == before

    # gpupool writes Slurm's files on the controller
    nodes = foreign.site / "nodes.yml"
    nodes.write_text(nodes.read_text().replace("database], managed: false", "database], address: 10.196.0.10"))
    foreign.applies()
    first = foreign.state()
    changed = {node: {line.split()[0] for line in {*first[node]} ^ {*before[node]}} for node in NODES}
    assert {path for path in changed.pop("ctl") if not path.startswith(("etc/slurm", "var/lib/gpupool"))} == set()
    assert [*changed.values()] == [set()] * 3
    assert [first[kind] for kind in ACCOUNTING] == [before[kind] for kind in ACCOUNTING]
    take_groups(foreign)
    take_roles(foreign)
    give_labs_their_caps(foreign)
    an_owner_gets_its_gpus_from_a_hostile_lab(foreign)

    # the way back, killed with a restored file, and without an added one
    for reached in ("grep -q 'sea lab' /etc/slurm/slurm.conf", "! test -e /etc/slurm/job_submit.lua"):
        foreign.killed("ctl", reached, "adopt", "--back")
    foreign.does("adopt", "--back")
    foreign.jobs_run()
    after = foreign.state()
    for node in NODES:
        added = [line for line in after[node] if line not in before[node]]
        assert [line for line in added if line != "var/lib/gpupool root:root 755"] == []
        assert {*before[node]} - {*after[node]} == set()
    for kind in ACCOUNTING:
        assert sorted(after[kind]) == sorted(before[kind]), kind
    assert foreign.out("ctl", "scontrol show config | grep -c 'KillWait *= 45 sec'") == "1"
    assert "--conf-server" not in slurmd(foreign)
    foreign.jobs_run()
    assert "1 node" not in foreign.does("adopt", "--back")
    a_cancelled_job_ends(foreign)


def take_groups(foreign: Foreign) -> None:
    """Take each group of slurm.left as --steps says; one apply is killed."""
    groups = [step.group for step in steps(foreign.site)[1]]
    assert groups == ["cgroups", "steps", "configless", "enforce", "submit", "order", "gpus", "limits"]
    for group in groups:
        if group == "gpus":  # the first of its reasons
            (foreign.site / "slurm/gres.conf").unlink()
        step = next(step for step in steps(foreign.site)[1] if step.group == group)
        assert (step.refused, step.loses_jobs) == ((), False)
        data = yaml.safe_load((foreign.site / "slurm.yml").read_text())
        foreign.change("slurm.yml", "slurm.left", [other for other in data["slurm"]["left"] if other != group])
        for key in step.dropped:
            foreign.change(FILES[key.partition(".")[0]], key)
        if group == "submit":
            foreign.killed("ctl", "grep -q JobSubmitPlugins /etc/slurm/slurm.conf", "apply")
        foreign.applies()


def take_roles(foreign: Foreign) -> None:
    """Have gpupool manage all nodes: slurmd gets its files from the controller, and finds its jobs."""
    nodes = foreign.site / "nodes.yml"
    text = nodes.read_text().replace("a40: 4}, managed: false}", 'a40: 4}, address: "10.196.0.[21-22]"}')
    nodes.write_text(text + "  - {name: login, roles: [head], address: 10.196.0.11}\n")
    foreign.change("cluster.yml", "cluster.manage", ROLES)
    foreign.killed("g1", "systemctl show -P ActiveState gpupool-steps | grep -qx active", "apply")
    foreign.applies()
    assert "--conf-server" in slurmd(foreign)
    a_cancelled_job_ends(foreign)


def slurmd(foreign: Foreign) -> str:
    return foreign.out("g1", "tr '\\0' ' ' < /proc/$(systemctl show -P MainPID slurmd)/cmdline")


def a_cancelled_job_ends(foreign: Foreign) -> None:
    """A job of the time before is ended by Slurm, with its processes."""
    job = foreign.jobs.pop()
    node, user = foreign.out("ctl", f"squeue -h -j {job} -o '%N %u'").split()
    script = f"pgrep -f -u {user} 'job0*{job}/slurm_script'"
    assert foreign.out(node, script)
    foreign.out("ctl", f"scancel {job}")
    until(lambda: foreign.testbed.run(node, script).returncode == 1, f"the processes of job {job} end")


def give_labs_their_caps(foreign: Foreign) -> None:
    (foreign.site / "labs.yml").write_text(LABS)
    (foreign.site / "partitions.yml").write_text(PARTITIONS)
    foreign.applies()
    shares = foreign.out("ctl", "sacctmgr -nP show assoc where user= format=account,grptres,fairshare").splitlines()
    assert {"fish|gres/gpu=5|3", "crab|gres/gpu=3|1", "sea-life||7"} <= {*shares}
    assert foreign.out("ctl", "systemctl is-active gpupool-arbiter") == "active"


def an_owner_gets_its_gpus_from_a_hostile_lab(foreign: Foreign) -> None:
    """A user of crab takes all idle GPUs, with jobs that ignore signals, and claims more; fish still gets its GPUs."""
    stubborn = "trap : TERM USR1; while :; do sleep 1; done"
    loot = [submit(foreign, "bob", "-A overcap -p overcap --no-requeue --gres gpu:1", stubborn) for _ in range(3)]
    more = submit(foreign, "bob", "--gres gpu:2", stubborn)
    for refused in ("-A fish --gres gpu:1", "-A overcap -p all --gres gpu:1", "-p deep --gres gpu:1"):
        with pytest.raises(AssertionError, match="Invalid account"):
            submit(foreign, "bob", refused)
    until(lambda: any(foreign.has(job, "RUNNING") for job in loot), "the hostile lab has an idle GPU")
    own = submit(foreign, "ann", "--gres gpu:1")
    until(lambda: foreign.has(own, "RUNNING"), "the owner has its GPU")
    assert foreign.has(more, "PENDING")
    foreign.out("ctl", f"scancel {own} {more} {' '.join(loot)}")
    until(lambda: len(foreign.out("ctl", "squeue -h").splitlines()) == len(foreign.jobs), "the others have ended")
