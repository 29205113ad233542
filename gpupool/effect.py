"""What a change costs beside the change itself: announced by operations, shown by a plan."""

from collections.abc import Iterable
from dataclasses import dataclass

_DRAIN = "drain"


@dataclass(frozen=True)
class Effect:
    """What a change leads to ("reconfigure", "restart slurmctld", "drain"), and the jobs that wait for it or would end.

    A job is told by id and user: "33 of u-kira1".
    """

    what: str
    jobs: tuple[str, ...] = ()

    @property
    def waits(self) -> bool:
        """Whether the change is not made before nodes are drained."""
        return self.what == _DRAIN

    @classmethod
    def drain(cls, jobs: Iterable[str] = ()) -> "Effect":
        """Return the effect of a change that would end these jobs, or needs a node on which none can begin."""
        return cls(_DRAIN, tuple(jobs))


#: A change that no daemon has to be told of, and no job notices.
NOTHING = Effect("nothing")


def together(effects: Iterable[Effect]) -> Effect:
    """Return several effects as one, without those that are nothing beside another."""
    distinct = [effect for effect in dict.fromkeys(effects) if effect != NOTHING]
    if not distinct:
        return NOTHING
    acts = dict.fromkeys(word for effect in distinct for word in effect.what.split(", "))
    return Effect(", ".join(acts), tuple(dict.fromkeys(job for effect in distinct for job in effect.jobs)))
