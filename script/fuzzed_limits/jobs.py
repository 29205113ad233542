"""Jobs for a random inventory: what most users submit, and random ones."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpupool.rehearsal.twin import Ask


@dataclass(frozen=True)
class Job:
    """A request: partitions, account, QoS and hours, or their defaults; GPUs; tasks of a CPU each; GiB of memory."""

    user: str
    partitions: tuple[str, ...] = ()
    account: str | None = None
    qos: str | None = None
    gpus: int = 0
    tasks: int = 1
    hours: int | None = None
    memory: int = 0

    @property
    def ask(self) -> Ask:
        """Return the job with the options of sbatch."""
        options = (
            *(("-p", ",".join(self.partitions)) if self.partitions else ()),
            *(("-A", self.account) if self.account else ()),
            *((f"--qos={self.qos}",) if self.qos else ()),
            *((f"--gpus={self.gpus}",) if self.gpus else ()),
            *(("-n", str(self.tasks)) if self.tasks > 1 else ()),
            *((f"--time={60 * self.hours}",) if self.hours else ()),
        )
        return Ask(self.user, (f"--mem={self.memory}G" if self.memory else "--mem=10M", *options))

    def __str__(self) -> str:
        """Return the job as its user would type it."""
        return f"{self.user}: sbatch {' '.join(self.ask.options)}"


def jobs(data: Mapping[str, Any], pick: random.Random, many: int) -> Iterator[Job]:
    """Yield jobs without options, with --gpus=1 and with two partitions, by each user, and then `many` random ones."""
    names = [place["name"] for place in data["partitions"]]
    users = {user["name"]: (user["account"], *user.get("accounts", ())) for user in data["users"]}
    for user in users:
        yield Job(user)
        yield Job(user, gpus=1)
        yield Job(user, tuple(names[:2]))
        yield from (Job(user, (name,), gpus=gpus) for name in names for gpus in (0, 1))
    for _ in range(many):
        user = pick.choice([*users])
        yield Job(
            user,
            tuple(pick.sample(names, pick.choice([0, 1, 1, 2, 2, 3]))),
            pick.choice([None, None, *users[user]]),
            pick.choice([None, None, *data["qos"]]),
            pick.choice([0, 0, 1, 2, 4, 7, 13]),
            pick.choice([1, 1, 4, 5, 17]),
            pick.choice([None, None, 1, 2, 24, 48]),
            pick.choice([0, 0, 0, 40, 100]),
        )
