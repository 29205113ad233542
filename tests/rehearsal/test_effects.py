"""The table of effects on a live cluster: keys are changed, and the promised effect happens. Needs docker."""

from collections.abc import Iterator

import pytest
from inventories import SMALL
from pace import until

from gpupool.cluster.load import load
from gpupool.rehearsal.twin import HOLD, Ask, Result, Twin
from gpupool.slurm.keys.effects import NOTHING, RECONFIGURE, RELOAD, effect

CONF, DBD = "/etc/slurm/slurm.conf", "/etc/slurm/slurmdbd.conf"
VERSION = "24.11"

#: Keys of slurm.conf: a new value, and its form in `scontrol show config`.
GLOBAL = {
    "AccountingStorageEnforce": ("associations,limits,qos", "associations,limits,qos"),
    "BatchStartTimeout": ("11", "11 sec"),
    "CompleteWait": ("7", "7 sec"),
    "DefMemPerGPU": ("20480", None),
    "EnforcePartLimits": ("ALL", "ALL"),
    "Epilog": ("/bin/true", "/bin/true"),
    "HealthCheckInterval": ("77", "77 sec"),
    "InactiveLimit": ("120", "120 sec"),
    "JobRequeue": ("0", "0"),
    "KillWait": ("4", "4 sec"),
    "LaunchParameters": ("test_exec", "test_exec"),
    "Licenses": ("matlab:2", "matlab:2"),
    "MaxArraySize": ("2002", "2002"),
    "MaxJobCount": ("20001", "20001"),
    "MessageTimeout": ("21", "21 sec"),
    "PriorityWeightAge": ("1234", "1234"),
    "PrivateData": ("usage", "usage"),
    "Prolog": ("/bin/true", "/bin/true"),
    "SchedulerParameters": ("bf_window=2880", "bf_window=2880"),
    "SelectTypeParameters": ("CR_CPU", "CR_CPU"),
    "SlurmctldDebug": ("debug", "debug"),
    "SlurmdTimeout": ("301", "301 sec"),
    "TaskProlog": ("/bin/true", "/bin/true"),
    "UnkillableStepTimeout": ("181", "181 sec"),
}
#: Lines in slurm.conf: a text and its replacement, the key, and where the new value is shown.
LINES = (
    ("partition", "MaxTime", "MaxTime=04:00:00", "MaxTime=05:00:00", "show partition red", "MaxTime=05:00:00"),
    ("partition", "PriorityTier", "PriorityTier=10", "PriorityTier=20", "show partition red", "PriorityTier=20"),
    ("partition", "AllowAccounts", "AllowAccounts=red", "AllowAccounts=red,blue", "show partition red", "=red,blue"),
    ("node", "Feature", "Feature=a40", "Feature=a40,new", "show node gpu-1", "ActiveFeatures=a40,new"),
    ("node", "RealMemory", "RealMemory=508559", "RealMemory=508000", "show node gpu-1", "RealMemory=508000"),
    (
        "node",
        "NodeName",
        "\n# Partitions",
        "\nNodeName=gpu-9 NodeAddr=127.0.0.1 Port=17009\n",
        "show node gpu-9",
        "NodeName=gpu-9",
    ),
)
#: Keys of slurmdbd.conf and their new form in `sacctmgr show config`.
DATABASE = {
    "ArchiveDir": ("/var/tmp", "/var/tmp"),
    "DebugLevel": ("debug", "debug"),
    "MaxQueryTimeRange": ("60-00:00:00", "60-00:00:00"),
    "PrivateData": ("jobs", "jobs"),
    "PurgeEventAfter": ("1month", "1 months"),
    "PurgeJobAfter": ("12months", "12 months"),
    "PurgeStepAfter": ("6months", "6 months"),
}
LISTENING = "ss -Hltn | awk '{ print $4 }'"


@pytest.fixture(scope="module")
def twin(apart: None) -> Iterator[Twin]:
    """Two nodes, and a job that runs throughout."""
    with Twin.start(load(SMALL), version=VERSION) as twin:
        [number] = twin.submit([Ask("ann", ("-p", "all", "--gres=gpu:1", "--mem=1G"), HOLD)])
        until(lambda: [job.state for job in twin.jobs()] == ["RUNNING"], "the job runs", lambda: str(twin.jobs()))
        yield twin
        state = [(job.state, job.restarts) for job in twin.jobs() if job.id == number]
        assert state == [("RUNNING", 0)], "no job notices any of this"


def done(result: Result) -> str:
    assert result.code == 0, result.err
    return result.out


def shown(twin: Twin, command: str) -> dict[str, str]:
    pairs = (line.partition("=")[::2] for line in done(twin.run(command)).splitlines() if "=" in line)
    # a key with several values is shown as KEY[0]
    return {key.strip().lower().partition("[")[0]: value.strip() for key, value in pairs}


def put(twin: Twin, path: str, values: dict[str, str]) -> None:
    gone = "".join(f"/^{key}=/Id;" for key in values)
    lines = "".join(f"{key}={value}\n" for key, value in values.items())
    done(twin.run(f"sed -i '{gone}' {path}; cat >> {path} <<'END'\n{lines}END"))


def processes(twin: Twin) -> set[str]:
    return set(done(twin.run("pgrep -o slurmctld; cat /run/slurmd-*.pid")).split())


def test_keys_with_the_effect_reconfigure_need_exactly_that(twin: Twin) -> None:
    assert {key: effect("slurm.conf", "global", key, VERSION) for key in GLOBAL} == dict.fromkeys(GLOBAL, RECONFIGURE)
    assert {effect("slurm.conf", section, key, VERSION) for section, key, *_ in LINES} == {RECONFIGURE}
    before, were = shown(twin, "scontrol show config"), processes(twin)
    put(twin, CONF, {key: value for key, (value, _) in GLOBAL.items()})
    text = done(twin.run(f"cat {CONF}"))
    for _, _, old, new, _, _ in LINES:
        assert old in text, old
        text = text.replace(old, new, 1)
    done(twin.run(f"cat > {CONF} <<'END'\n{text}END"))
    still = shown(twin, "scontrol show config")
    assert [key for key in GLOBAL if still.get(key.lower()) != before.get(key.lower())] == [], "needed"
    done(twin.run("scontrol reconfigure"))
    until(lambda: not were & processes(twin), "all daemons are new processes", lambda: str(processes(twin)))
    now = shown(twin, "scontrol show config")
    assert {key: now[key.lower()] for key, (_, says) in GLOBAL.items() if says} == {
        key: says for key, (_, says) in GLOBAL.items() if says
    }
    for _, key, _, _, command, says in LINES:
        assert says in done(twin.run(f"scontrol -a {command}")), key


def test_keys_with_the_effect_restart_do_not_change_by_a_reconfigure(twin: Twin) -> None:
    assert effect("slurm.conf", "node", "Port", VERSION) == "slurmd"
    done(twin.run(f"sed -i 's/Port=\\[17001-17002\\]/Port=[17101-17102]/' {CONF}; grep -q 17101 {CONF}"))
    done(twin.run("scontrol reconfigure"))
    assert "Port=17101 " in done(twin.run("scontrol show node gpu-1")), "slurmctld knows it"
    listening = done(twin.run(LISTENING))
    assert "17001" in listening
    assert "17101" not in listening
    done(twin.run(f"sed -i 's/Port=\\[17101-17102\\]/Port=[17001-17002]/' {CONF}; scontrol reconfigure"))
    until(
        lambda: "IDLE*" not in twin.run("scontrol show node gpu-2").out, "nodes answer", lambda: twin.run("sinfo").out
    )


def test_a_change_of_the_submit_plugin_needs_nothing(twin: Twin) -> None:
    assert effect("job_submit.lua", "text", "*", VERSION) == NOTHING
    path = "/etc/slurm/job_submit.lua"
    done(twin.run(f"cp -p {path} /tmp/"))
    refusal = """function slurm_job_submit() slurm.log_user("seen at once") return slurm.ERROR end
function slurm_job_modify() return slurm.SUCCESS end
return slurm.SUCCESS
"""
    try:
        done(twin.run(f"cat > {path} <<'END'\n{refusal}END\ntouch -d '1 minute' {path}"))
        assert "seen at once" in twin.run("sbatch --wrap true", "ann").err
    finally:
        twin.run(f"cp -p /tmp/job_submit.lua {path}; touch -d '2 minutes' {path}")


def test_slurmdbd_reads_keys_at_a_reload_and_its_port_at_a_restart(twin: Twin) -> None:
    found = {key: effect("slurmdbd.conf", "global", key, VERSION) for key in DATABASE}
    assert found == dict.fromkeys(DATABASE, RELOAD)
    assert effect("slurmdbd.conf", "global", "DbdPort", VERSION) == "slurmdbd"
    before = shown(twin, "sacctmgr show config")
    put(twin, DBD, {key: value for key, (value, _) in DATABASE.items()} | {"DbdPort": "6829"})
    assert {key: shown(twin, "sacctmgr show config")[key.lower()] for key in DATABASE} == {
        key: before[key.lower()] for key in DATABASE
    }
    done(twin.run("pkill -HUP -x slurmdbd"))

    def says() -> dict[str, str]:
        now = shown(twin, "sacctmgr show config")
        return {key: now[key.lower()].rstrip("*") for key in DATABASE}

    until(
        lambda: says() == {key: answer for key, (_, answer) in DATABASE.items()},
        "slurmdbd has read it",
        lambda: f"{says()}",
    )
    listening = done(twin.run(LISTENING))
    assert "6819" in listening
    assert "6829" not in listening
