"""Prices of jobs on Santos Dumont, and the budget of a project, which no project can exceed."""

import json
import re
from collections.abc import Iterator

import pytest
from pace import until

from tests.guides.dumont import COLLEAGUE, CONTROLLER, LOGIN, ME, PROJECT, SCRATCH, in_scratch, to_the_past
from tests.testbed.cluster import Testbed

HOUR = 3600
#: A node of the queue nvidia costs 36 UA an hour.
NODE = "-p nvidia --exclusive -o /dev/null"
REFUSED = r"Account projeto has (\S+) UA left of its budget of (\S+) UA, and this job may cost up to (\S+) UA: request"


def table(dumont: Testbed, account: str = PROJECT, user: str = "") -> dict[str, float]:
    """Return the table of `budget` for an account, in UA."""
    rows = json.loads(dumont.out(LOGIN, "budget --json", ME))["budgets"]
    row = next(row for row in rows if (row["account"], row["user"]) == (account, user))
    return {key: row[key] / HOUR for key in ("limit", "used", "running", "left")}


def refresh(dumont: Testbed) -> None:
    """Run the service that the timer starts every minute."""
    dumont.out(CONTROLLER, "systemctl start gpupool-budgets")


def leave(dumont: Testbed, hours: int) -> None:
    """Set the budget so that the project has this many UA left, to the minute."""
    minutes = -int(-table(dumont)["used"] * 60 // 1) + hours * 60
    dumont.out(CONTROLLER, f"sacctmgr -i modify account {PROJECT} set GrpTRESMins=billing={minutes}")
    until(lambda: hours <= table(dumont)["left"] < hours + 0.02, "slurmctld knows of the budget")
    refresh(dumont)


def refused(dumont: Testbed, command: str, user: str = ME) -> str:
    """Return the reason why a command of a user is refused."""
    done = dumont.run(LOGIN, f"cd /scratch/*/{user} && {command}", user)
    assert done.returncode, done.stdout
    return done.stderr


@pytest.fixture
def ten(dumont: Testbed) -> Iterator[Testbed]:
    """The cluster with 10 UA left for the project, and no jobs. Afterwards the project has its budget again."""
    dumont.end_jobs()
    leave(dumont, 10)
    yield dumont
    dumont.cancel_jobs()
    dumont.out(CONTROLLER, f"sacctmgr -i modify account {PROJECT} set GrpTRESMins=billing={100_000 * 60}")
    refresh(dumont)


@pytest.mark.promise("SDU-025", "SDU-026", "SDU-039")
@pytest.mark.parametrize(
    ("queue", "cpus", "gpus", "price"), [("nvidia_dev", 24, 2, 36), ("sequana_gpu", 48, 4, 72), ("gdl", 40, 8, 80)]
)
def test_an_exclusive_job_has_and_pays_for_the_whole_node(
    dumont: Testbed, queue: str, cpus: int, gpus: int, price: int
) -> None:
    before = table(dumont)["used"]
    job = in_scratch(dumont, f"sbatch --parsable -p {queue} --exclusive -o /dev/null --wrap 'true'")
    tres = dumont.wait_for(job, "COMPLETED")["AllocTRES"]
    for part in (f"cpu={cpus}", f"billing={price}", f"gres/gpu={gpus}"):
        assert part in tres.split(","), tres
    ran = f"sacct -nXP -j {job} -o State,ElapsedRaw"
    until(lambda: dumont.out(LOGIN, ran, ME).startswith("COMPLETED"), "slurmdbd knows of the end")
    seconds = int(dumont.out(LOGIN, ran, ME).partition("|")[2])
    until(lambda: round((table(dumont)["used"] - before) * HOUR) == seconds * price, "it is charged to the second")


@pytest.mark.promise("SDU-027")
def test_a_budget_of_ten_suffices_for_nine_and_not_for_eleven(ten: Testbed) -> None:
    # 18 minutes of a node are 10.8 UA
    match = re.search(REFUSED, refused(ten, f"sbatch {NODE} -t 19 --wrap true"))
    assert match
    assert (round(float(match[1])), float(match[3])) == (10, 11.4)
    job = in_scratch(ten, f"sbatch --parsable {NODE} -t 15 --wrap 'sleep 600'")
    ten.wait_for(job, "RUNNING")
    assert table(ten)["running"] + table(ten)["used"] == pytest.approx(9 + ten_used(ten), abs=0.02)
    refresh(ten)
    # running jobs may end early, so the next job waits, and its user gets a message
    waits = ten.run(LOGIN, f"cd {SCRATCH} && sbatch {NODE} -t 15 --wrap true", ME)
    assert re.search(r"has \S+ UA left, of which running jobs may need \S+ UA: this job may wait", waits.stderr)
    other = waits.stdout.split()[-1]
    ten.wait_for(other, "PENDING", "AssocGrpBillingMinutes")
    ten.out(LOGIN, f"scancel {job}", ME)
    ten.wait_for(other, "COMPLETED")


def ten_used(dumont: Testbed) -> float:
    """Return the usage of the project before the 10 UA that are left now."""
    return table(dumont)["limit"] - 10


@pytest.mark.promise("SDU-025", "SDU-027")
@pytest.mark.parametrize(
    ("options", "cost"),
    [
        ("-p gdl --exclusive -t 8", 10.67),
        ("-p nvidia --exclusive -N 2 -t 9", 10.8),
        ("-p nvidia --exclusive -n 25 -t 9", 10.8),
        ("-p nvidia --exclusive -N 1-2 -t 9", 10.8),
        ("-p nvidia_dev -n 24 -t 17", 10.2),
        ("-p nvidia_dev -n 3 -t 20 --array=1-8", 10.67),
        ("-p nvidia_dev,gdl --exclusive -t 8", 10.67),
        ("-p nvidia_small --exclusive", 36.0),
    ],
)
def test_the_largest_possible_cost_of_a_job_counts(ten: Testbed, options: str, cost: float) -> None:
    match = re.search(REFUSED, refused(ten, f"sbatch -o /dev/null {options} --wrap true"))
    assert match
    assert float(match[3]) == cost


@pytest.mark.promise("SDU-027")
def test_no_change_of_a_job_avoids_the_budget(ten: Testbed) -> None:
    """A change that the plugin cannot price, as that of an exclusive job, is accepted, and the job never starts."""
    shared = in_scratch(ten, "sbatch --parsable -H -p nvidia -n 24 -t 10 -o /dev/null --wrap true")
    assert re.search(REFUSED, refused(ten, f"scontrol update job={shared} timelimit=40"))
    whole = in_scratch(ten, f"sbatch --parsable -H {NODE} -t 10 --wrap true")
    in_scratch(ten, f"scontrol update job={whole} timelimit=40")
    in_scratch(ten, f"scontrol release {whole}")
    ten.wait_for(whole, "PENDING", "AssocGrpBillingMinutes")


@pytest.mark.promise("SDU-027")
def test_slurm_itself_enforces_the_budget_without_the_plugins_file(ten: Testbed) -> None:
    ten.out(CONTROLLER, "systemctl stop gpupool-budgets.timer && rm /run/gpupool-budgets/budgets")
    try:
        job = in_scratch(ten, f"sbatch --parsable {NODE} -t 19 --wrap true")
        ten.wait_for(job, "PENDING", "AssocGrpBillingMinutes")
    finally:
        ten.out(CONTROLLER, "systemctl start gpupool-budgets.timer")


@pytest.mark.promise("SDU-002", "SDU-027")
def test_a_coordinator_divides_the_budget_and_cannot_raise_it(ten: Testbed) -> None:
    for attempt in (
        f"modify account {PROJECT} set GrpTRESMins=billing=60000",
        f"modify account {PROJECT} set GrpTRESMins=billing=-1",
        f"modify account {PROJECT} set RawUsage=0",
        f"modify user {ME} where account={PROJECT} set RawUsage=0",
        "add account mine parent=premiumproj",
    ):
        used = table(ten)
        refused(ten, f"sacctmgr -i {attempt}")
        assert table(ten) == used, attempt
    share = f"sacctmgr -i modify user {COLLEAGUE} where account={PROJECT} set GrpTRESMins=billing="
    in_scratch(ten, f"sacctmgr -i add account part parent={PROJECT}; sacctmgr -i add user {ME} account=part")
    try:
        in_scratch(ten, f"{share}{-int(-table_used(ten, COLLEAGUE) * 60 // 1) + 120}")
        refresh(ten)
        assert "User usuario2 has 2.0" in refused(ten, f"sbatch {NODE} -t 5 --wrap true", COLLEAGUE)
        # an account below the project's is charged to the project, too
        assert re.search(REFUSED, refused(ten, f"sbatch -A part {NODE} -t 19 --wrap true"))
        used = table(ten)["used"]
        ten.wait_for(in_scratch(ten, f"sbatch --parsable -A part {NODE} -t 1 --wrap 'sleep 3'"), "COMPLETED")
        until(lambda: table(ten)["used"] > used, "the job is charged to the project")
        used = table(ten)["used"]
    finally:
        ten.out(CONTROLLER, f"sacctmgr -i delete user {ME} account=part; sacctmgr -i delete account part; {share}-1")
    # nor do accounts that have left appear again, nor their usage
    ten.out(CONTROLLER, "systemctl restart slurmctld")
    until(lambda: ten.run(CONTROLLER, "scontrol ping").returncode == 0, "slurmctld runs again")
    assert table(ten)["used"] == used


def table_used(dumont: Testbed, user: str) -> float:
    """Return the usage of a user of the project, in UA."""
    shares = json.loads(dumont.out(CONTROLLER, "sshare --all --json"))["shares"]["shares"]
    usage = next(share for share in shares if (share["name"], share["parent"]) == (user, PROJECT))["tres"]["usage"]
    return float(next(tres["value"] for tres in usage if tres["name"] == "billing")) / HOUR


@pytest.mark.promise("SDU-027")
def test_a_budget_is_raised_in_the_inventory(ten: Testbed) -> None:
    refused(ten, f"sbatch {NODE} -t 19 --wrap true")
    code, changes = ten.plan("--limit", CONTROLLER)
    assert (code, changes) == (3, {CONTROLLER: [f"Account limits | account {PROJECT}"]})
    done = ten.apply("--limit", CONTROLLER)
    assert done.returncode == 0, done.stdout + done.stderr
    assert table(ten)["limit"] == 100_000
    refresh(ten)
    ten.wait_for(in_scratch(ten, f"sbatch --parsable {NODE} -t 19 --wrap true"), "COMPLETED")
    assert ten.plan("--limit", CONTROLLER) == (0, {})


@pytest.mark.promise("SDU-025", "SDU-044")
def test_sreport_and_our_table_agree_to_the_hundredth(dumont: Testbed) -> None:
    dumont.end_jobs()
    both = ((ME, f"{NODE} -t 5"), (COLLEAGUE, "-p gdl --exclusive -t 5 -o /dev/null"))
    for job in [
        in_scratch(dumont, f"sbatch --parsable {command} --wrap 'sleep 20'", user=user) for user, command in both
    ]:
        dumont.wait_for(job, "COMPLETED")
    to_the_past(dumont)
    command = "sreport -nP -t seconds -T billing cluster AccountUtilizationByUser start=2021-06-01 end=now"
    rows = [line.split("|") for line in dumont.out(LOGIN, f"{command} Accounts={PROJECT}", ME).splitlines()]
    # users of an account that has left also have lines
    users = [row for row in rows if row[2]]
    assert [row[:4] for row in users if row[1] == PROJECT] == [
        ["sdumont", PROJECT, ME, "User One"],
        ["sdumont", PROJECT, COLLEAGUE, "User Two"],
    ]
    total = next(int(row[5]) for row in rows if row[1] == PROJECT and not row[2])
    assert total == sum(int(row[5]) for row in users), "the project's line is the sum"
    assert f"{total / HOUR:.2f}" == f"{table(dumont)['used']:.2f}"
    shown = dumont.out(LOGIN, f"budget -A {PROJECT}", ME).splitlines()[1].split()
    assert shown[:4] == [PROJECT, "-", "100000.00", f"{total / HOUR:.2f}"]
    assert shown[-1] == "UA"
