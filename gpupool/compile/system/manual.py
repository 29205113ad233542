"""The `--help` text and the man page of each users' tool, made from the same data."""

import argparse
import textwrap
from dataclasses import dataclass

from gpupool.programs.budget import options as budget
from gpupool.programs.gpu_usage import options as gpu_usage

FOLDER = "/usr/local/share/man/man1"


@dataclass(frozen=True)
class Page:
    """A tool: its summary in one line, synopsis, description in paragraphs, and its options and examples with texts."""

    name: str
    summary: str
    synopsis: str
    about: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    exits: tuple[tuple[str, str], ...] = (("0", "all went well"), ("2", "the command line is wrong"))

    @property
    def path(self) -> str:
        """The path where man finds it."""
        return f"{FOLDER}/{self.name}.1"


def shown(page: Page) -> str:
    """Return the text of --help."""
    parts = [f"usage: {page.name} {page.synopsis}".rstrip()]
    parts += [textwrap.fill(text, 79) for text in (f"{page.summary[0].upper()}{page.summary[1:]}.", *page.about)]
    for rows in (page.options, page.examples):
        if rows:
            width = max(len(row[0]) for row in rows) + 2
            parts.append("\n".join(f"  {left.ljust(width)}{text}" for left, text in rows))
    return "\n\n".join(parts)


def roff(page: Page) -> str:
    """Return the man page."""
    lines = [
        '.\\" Written by gpupool; changes made here are undone by the next apply.',
        f'.TH "{page.name.upper()}" 1 "" gpupool "User Commands"',
        ".SH NAME",
        f"{_plain(page.name)} \\- {_plain(page.summary)}",
        ".SH SYNOPSIS",
        f".B {_plain(page.name)}",
        *([_plain(page.synopsis)] if page.synopsis else []),
        ".SH DESCRIPTION",
    ]
    for text in page.about:
        lines += [".PP", _plain(text)]
    for head, rows in (("OPTIONS", page.options), ("EXAMPLES", page.examples), ("EXIT STATUS", page.exits)):
        if rows:
            lines.append(f".SH {head}")
        for left, text in rows:
            lines += [".TP", f".B {_plain(left)}", _plain(text)]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """Return text without roff commands; a minus sign can be copied to a shell."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def _of_parser(parser: argparse.ArgumentParser) -> tuple[tuple[str, str], ...]:
    """Return the options of a program, as its --help lists them."""
    rows = []
    for action in parser._actions:
        value = action.metavar or ("{" + ",".join(map(str, action.choices)) + "}" if action.choices else "")
        value = f"[{value}]" if action.nargs == "?" else value
        rows.append((f"{', '.join(action.option_strings)} {value}".rstrip(), str(action.help)))
    return tuple(rows)


GPU_USAGE = Page(
    gpu_usage.PROG,
    gpu_usage.SUMMARY,
    "[-u | -l] [-p [NAME]] [--json] [--color WHEN]",
    gpu_usage.ABOUT,
    _of_parser(gpu_usage.parser()),
    (
        ("gpu_usage -l", "all labs with their caps"),
        ("gpu_usage -u -p NAME", "the users of one lab, or of one partition"),
        ("watch gpu_usage -l", "the same, refreshed"),
    ),
    (("0", "printed"), ("1", "the queue cannot be read"), ("2", "the command line is wrong")),
)

BUDGET = Page(
    budget.PROG,
    budget.SUMMARY,
    "[-A NAME] [--json]",
    budget.ABOUT,
    _of_parser(budget.parser()),
    (("budget", "all accounts with a budget"), ("budget -A NAME", "the budgets that an account's jobs are charged to")),
    (("0", "printed"), ("1", "the budgets cannot be read"), ("2", "the command line is wrong")),
)

SBASH = Page(
    "sbash",
    "a shell on a compute node, with GPUs; it ends with exit",
    "[OPTIONS] [-- OPTIONS OF SRUN]",
    ("Arguments after -- are passed to srun.",),
    (
        ("-g, --gpu TYPE", "type of the GPUs"),
        ("-G, --gpus N", "number of GPUs"),
        ("-c, --cpus N", "CPUs"),
        ("-m, --mem SIZE", "memory, such as 64G"),
        ("-p, --partition NAME", "partition"),
        ("-A, --account NAME", "account (your own)"),
        ("-q, --qos NAME", "QoS"),
        ("-t, --time TIME", "time limit: 30 (minutes), 4:00:00, 1-0 (a day)"),
        ("-w, --nodelist NODES", "only on these nodes"),
        ("-x, --exclude NODES", "not on these nodes"),
        ("-J, --job-name NAME", "name of the job"),
        ("-h, --help", "this help, with the defaults of the cluster"),
    ),
    (("sbash -p overcap -A overcap", "beyond the lab's cap, until an owner needs the GPUs"),),
)

UTILIZATION = Page(
    "getUtilByJobId.sh",
    "show the utilization of the GPUs of your running job",
    "[-s SECONDS] JOBID",
    (
        "Runs nvidia-smi in the job, for its GPUs only, and prints lines of CSV until you press Ctrl-C. The job "
        "keeps all its resources.",
    ),
    (("-s, --seconds N", "seconds between two lines (5)"), ("-h, --help", "this help")),
    (("getUtilByJobId.sh 123", "job 123"), ("getUtilByJobId.sh 123_4", "a task of an array")),
    (("1", "you have no such running job"), ("2", "the command line is wrong")),
)

VSCODE = Page(
    "vscode-launch.sh",
    "start a job and connect VSCode, or any ssh, to it",
    "[OPTIONS OF SALLOC]",
    (
        "A ProxyCommand for ssh on your own machine. It starts a job, waits for its node, starts your own sshd there, "
        "within the job, and pipes the connection to it. The job ends with the connection. Options are those of "
        "salloc; without any, those in the variable SKY_VSC_LAUNCH.",
        "You log in with a key in ~/.ssh/authorized_keys. The host key of your sessions is ~/.ssh/gpupool-vscode.",
        "In ~/.ssh/config of your machine, with the head node in place of HEAD: Host job; ProxyCommand ssh HEAD "
        "vscode-launch.sh --gpus=1 --cpus-per-task=6",
    ),
    (("-h, --help", "this help"),),
    (("vscode-launch.sh --gpus a40:1 --cpus-per-task 15", "one GPU of type a40"),),
    (("1", "no job was started, or no connection made"),),
)


@dataclass(frozen=True)
class Alias:
    """A short name for a command."""

    name: str
    command: str
    text: str


_QUEUE = '--format="%.12i %.14P %.20j %.12u %.2t %.12M %.12l %.5C %.16b %R"'
ALIASES = (
    Alias("sqme", f"squeue --me {_QUEUE}", "your jobs"),
    Alias("sqall", f"squeue {_QUEUE}", "all jobs"),
    Alias("sqwait", f"squeue --states=PENDING --sort=-p {_QUEUE}", "pending jobs, by priority"),
    Alias("sqstart", "squeue --me --states=PENDING --start", "expected starts of your pending jobs"),
    Alias("sgpus", 'sinfo --format="%f %N"', "nodes by their GPUs"),
    Alias("snodes", 'sinfo --format="%20N %8t %20G %14C %f"', "nodes by state, GPUs and CPUs"),
    Alias("sdone", "sacct --allocations --format=jobid,jobname,partition,state,elapsed,alloctres%50", "jobs of today"),
    Alias(
        "slimits",
        'sacctmgr --noheader --parsable2 show assoc user="$(id -un)" format=account,partition,qos,grptres',
        "your accounts and QoS",
    ),
    Alias("slabs", "gpu_usage -l", "GPUs of each lab"),
)

ALIASES_PAGE = Page(
    "slurm-aliases",
    "short names for Slurm commands",
    "",
    (
        "Login shells of bash have them; elsewhere: source /etc/profile.d/gpupool-slurm-aliases.sh. The command "
        "slurm-aliases lists them. Do not use them in a loop or with watch: each asks the controller. gpu_usage does "
        "not.",
    ),
    examples=tuple((alias.name, f"{alias.text}: {alias.command}") for alias in ALIASES),
    exits=(),
)
