"""Random changes to the files of a cluster, by a seed, and what `gpupool adopt` makes of them.

The command ends with 0, 1, 2 or 3, without a traceback, within 10 s of a processor; what it prints has no signs that
move a terminal; and `gpupool check` accepts the inventory exactly if the code is 0 or 3.
"""

import argparse
import contextlib
import io
import random
import sys
import traceback
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import fuzz_cases
from fuzz_cases import ROOT

from gpupool import cli
from gpupool.cluster.load import examine, load
from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.slurm.gres import cgroup_conf, gres_conf

LONGEST = 10  # seconds of a processor for one configuration
_OWN = ("example", "arandu", "gcp-slurm")
#: A small configuration with what the others lack, in the spellings that Slurm takes.
_ODD = {
    "slurm.conf": r"""clustername = Odd_1
SlurmctldHost=ctl(10.1.0.1)
SlurmctldHost=ctl2
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=limits,qos
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_continue,bf_window=4320,max_script_size=10
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PriorityWeightFairshare=1000
TaskPlugin=task/affinity
FastSchedule=2
Include more.conf
NodeSet=fast Feature=quick
NODENAME=DEFAULT Boards=1 SocketsPerBoard=2 CoresPerSocket=8 \ # all alike
  ThreadsPerCore=2 State=UNKNOWN
NodeName=g_[1-4],h[01-08] Gres=gpu:4,mps:400 RealMemory=64000 Feature="quick,a100" Weight=5 MemSpecLimit=1000
NodeName=c1 CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=2 NodeAddr=c1.site NodeHostname=c01 Reason="a b"
PartitionName=DEFAULT MaxTime=1-0 DefMemPerCPU=2000
PartitionName=all Nodes=ALL Default=YES OverSubscribe=FORCE:4 TRESBillingWeights=CPU=1.0,Mem=0.25G,GRES/gpu=2
PartitionName=fast Nodes=fast PriorityTier=10 PreemptMode=OFF GraceTime=60 QOS=part AllowAccounts=bio,chem
PartitionName=gone Nodes=old[1-3] LLN=YES DefaultTime=0-1 MaxNodes=UNLIMITED
DownNodes=c1 State=DOWN
""",
    "more.conf": "GresTypes=gpu,mps\nPrologFlags=X11,Alloc\nSlurmctldPort=6817-6819\nKillOnBadExit=0\n",
    "gres.conf": "AutoDetect=nvml\nNodeName=g_[1-4] Name=gpu Type=a100 File=/dev/nvidia[0-3] Cores=0-15\nName=mps\n",
    "cgroup.conf": "ConstrainCores=yes\nConstrainDevices=no\nAllowedRAMSpace=95.5\n",
    "topology.conf": "SwitchName=s1 Nodes=g_[1-4]\nSwitchName=s2 Switches=s1\n",
}
_WORDS = (
    *(
        "=",
        "[",
        "]",
        "[1-",
        "-",
        ",",
        ",,",
        ":",
        "(",
        ")",
        "{",
        "}",
        "#",
        '"',
        "'",
        "\\",
        "\\\n",
        "\n",
        " ",
        "\t",
        "%c",
    ),
    *("DEFAULT", "ALL", "UNLIMITED", "INFINITE", "NONE", "YES", "no", "-1", "0", "1.5", "1e400", "nan", "99999999999"),
    *("9" * 400, "n[1-99999999]", "[1-3][4-6]", "localhost", "gpu:4", "gpu:a100:2(S:0)", "gpu:é:1", "shard:8", "0x10"),
    *(
        "NodeName=",
        "NodeName=x ",
        "PartitionName=y Nodes=ALL ",
        "Include slurm.conf\n",
        "Include /etc/passwd\n",
        "State=",
    ),
    *("CPUs=", "Sockets=3 ", "Gres=gpu ", "QOS=", "Feature=", "\x00", "\x1b[2J", "\u2028", "\u202e", "é", "y" * 5000),
    *("!!x", "*a", "&a", "${x}", "{{x}}", "../..", "/etc", "a b", "@compute", "true", "~"),
)


@cache
def seeds(folder: Path | None = None) -> tuple[Mapping[str, str], ...]:
    """Return configurations by the names of their files: gpupool's own, rendered, and those of a folder of folders."""
    found: list[Mapping[str, str]] = [_ODD]
    for name in _OWN:
        cluster = load(ROOT / "inventory" / name)
        texts = {"slurm.conf": slurm_conf, "gres.conf": gres_conf, "cgroup.conf": cgroup_conf}
        found.append({file: text(cluster) for file, text in texts.items()})
    for top in sorted(folder.iterdir()) if folder else ():
        files = sorted(path for path in top.iterdir() if path.is_file())
        found.append({path.name: path.read_text(encoding="utf-8", errors="replace") for path in files})
    return tuple(found)


def case(seed: int, number: int, folder: Path, of: tuple[Mapping[str, str], ...]) -> None:
    """Write the configuration of a number into a folder: some files of a seed, each with a few changes."""
    pick = random.Random(f"{seed}-{number}")
    for name, text in pick.choice(of).items():
        other = pick.choice([*pick.choice(of).values()])
        for _ in range(pick.choice((0, 1, 2, 4, 8))):
            text = _changed(text, other, pick)
        data = text.encode("utf-8", "surrogatepass")
        if pick.random() < 0.03:
            at = pick.randrange(len(data) + 1)
            data = pick.choice((b"\xef\xbb\xbf" + data, data[:at] + b"\xff" + data[at:], data[:at], b""))
        if name == "slurm.conf" or pick.random() > 0.05:
            (folder / name).write_bytes(data)


def _changed(text: str, other: str, pick: random.Random) -> str:
    lines, others = text.split("\n"), other.split("\n")
    at = pick.randrange(len(lines))
    spot = pick.randrange(len(text) + 1)
    match pick.randrange(7):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, pick.choice(others))
        case 2:
            lines.insert(at, pick.choice(lines))
        case 3:  # a pair of another line
            lines[at] += f" {pick.choice(pick.choice(others).split() or [''])}"
        case 4:  # another value
            key, sign, _ = lines[at].rpartition("=")
            lines[at] = key + sign + pick.choice(_WORDS)
        case _:
            return text[:spot] + pick.choice(_WORDS) + text[spot + pick.choice((0, 0, 1, 3, 20)) :]
    return "\n".join(lines)


def faults(folder: Path, to: Path) -> list[str]:
    """Return the faults of `gpupool adopt` with the configuration of a folder; `to` is the inventory to write."""
    code: object = 0
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            sys.argv = ["gpupool", "adopt", "--files", str(folder), str(to)]
            try:
                cli.main()
            except SystemExit as end:
                code = end.code or 0
        accepted = to.exists() and not examine(to).errors
    except Exception:
        return [traceback.format_exc()]
    wrong = [] if code in (0, 1, 2, 3) else [f"exit code {code}"]
    wrong += ["a traceback"] if "Traceback" in output.getvalue() else []
    wrong += [f"exit code {code}, and check {'accepts' if accepted else 'refuses'} it"] * (accepted != (code in (0, 3)))
    lines = output.getvalue().splitlines()
    return wrong + [f"signs: {line[:300]!r}" for line in lines if not line.isprintable()]


def main(most: int, seed: int, folder: Path | None = None) -> int:
    """Try `most` configurations; return how many failed."""
    of = seeds(folder)
    return fuzz_cases.failed(
        most,
        f"adopt-{seed}",
        fuzz_cases.of_a_processor(LONGEST),
        lambda number, files: case(seed, number, files, of),
        lambda files: faults(files, files.with_name("to")),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="script/fuzz --adopt", description=__doc__)
    parser.add_argument("most", nargs="?", type=int, default=10_000, help="how many (10000)")
    parser.add_argument("seed", nargs="?", type=int, default=1, help="of the choices (1)")
    parser.add_argument("--files", type=Path, help="a folder with a folder for each further configuration to change")
    given = parser.parse_args()
    sys.exit(1 if main(given.most, given.seed, given.files) else 0)
