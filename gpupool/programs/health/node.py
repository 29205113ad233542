"""This node in Slurm: what its state and reason are, and what becomes of them."""

import re
import subprocess
from dataclasses import dataclass

#: Begins a reason that this program set. Any other is a person's, or another part's, and stays.
PREFIX = "gpupool: health: "
_LONGEST = 500  # characters of a reason
_PATIENCE = 10  # seconds


class NoAnswerError(Exception):
    """Slurm did not say what was asked, or did not take what was told."""


@dataclass(frozen=True)
class Known:
    """What slurmctld knows of the node: its state's flags, why it is drained, and who said so."""

    flags: frozenset[str]
    reason: str = ""
    by: str = ""

    @property
    def is_ours(self) -> bool:
        """Whether it is drained, by this program and by nobody since."""
        return "DRAIN" in self.flags and self.reason.startswith(PREFIX) and self.by == "root"


@dataclass(frozen=True)
class Step:
    """A change of the node: `drain` with a reason, or `resume`."""

    state: str
    reason: str = ""


def next_step(known: Known, wrong: list[str]) -> Step | None:
    """Return what is to be done. A node that is down, or drained by others, is left as it is."""
    if "DOWN" in known.flags or ("DRAIN" in known.flags and not known.is_ours):
        return None
    if not wrong:
        return Step("resume") if known.is_ours else None
    reason = _one_line(PREFIX + "; ".join(wrong))
    return None if known.is_ours and known.reason == reason else Step("drain", reason)


def _one_line(text: str) -> str:
    plain = "".join(sign if sign.isprintable() and sign not in "[]" else "?" for sign in text)
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 3]}..."


def ask(name: str) -> Known:
    """Return what slurmctld knows of the node. NoAnswerError when it does not say."""
    return read(_scontrol("show", "node", name))


def read(text: str) -> Known:
    """Return a node from what `scontrol show node` prints. NoAnswerError where there is no state in it."""
    state = re.search(r"^\s*State=(\S+)", text, re.MULTILINE)
    if not state:
        raise NoAnswerError("scontrol shows no state of this node")
    # IDLE+DRAIN, MIXED+DRAIN*; a flag may have a sign behind it
    flags = frozenset(re.sub(r"[^A-Z_+]", "", state[1]).split("+"))
    reason = re.search(r"^\s*Reason=(.*?)(?: \[([^@\]\s]+)@[^\]]*\])?$", text, re.MULTILINE)
    return Known(flags, reason[1], reason[2] or "") if reason else Known(flags)


def update(name: str, step: Step) -> None:
    """Have slurmctld do it. NoAnswerError when it does not."""
    _scontrol("update", f"nodename={name}", f"state={step.state}", *([f"reason={step.reason}"] if step.reason else []))


def _scontrol(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["scontrol", *arguments], capture_output=True, text=True, errors="replace", check=False, timeout=_PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoAnswerError(f"scontrol {arguments[0]}: {error}") from None
    if done.returncode:
        raise NoAnswerError(f"scontrol {arguments[0]}: {done.stderr.strip() or f'exit code {done.returncode}'}")
    return done.stdout
