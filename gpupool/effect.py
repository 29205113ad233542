"""The effect of a change on daemons and jobs: announced by operations, shown by a plan."""

from collections.abc import Iterable
from dataclasses import dataclass

_DRAIN = "drain"


@dataclass(frozen=True)
class Effect:
    """The effect of a change ("reconfigure", "restart slurmctld", "drain"), and the jobs that delay it or would end.

    A job is given by id and user: "33 of u-kira1".
    """

    what: str
    jobs: tuple[str, ...] = ()

    @property
    def waits(self) -> bool:
        """Whether the change is only made after nodes are drained."""
        return self.what == _DRAIN

    @classmethod
    def drain(cls, jobs: Iterable[str] = ()) -> "Effect":
        """Return the effect of a change that would end these jobs, or that needs a drained node."""
        return cls(_DRAIN, tuple(jobs))


#: A change that affects no daemon and no job.
NOTHING = Effect("nothing")


def together(effects: Iterable[Effect]) -> Effect:
    """Return several effects as one; `NOTHING` is only returned if all effects are `NOTHING`."""
    distinct = [effect for effect in dict.fromkeys(effects) if effect != NOTHING]
    if not distinct:
        return NOTHING
    acts = dict.fromkeys(word for effect in distinct for word in effect.what.split(", "))
    return Effect(", ".join(acts), tuple(dict.fromkeys(job for effect in distinct for job in effect.jobs)))
