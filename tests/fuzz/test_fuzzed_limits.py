"""The generator of random limits and the reckoning from an inventory's words, without Slurm."""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from fuzzed_limits.inventory import Made, clusters
from fuzzed_limits.jobs import Job, jobs
from fuzzed_limits.reckoning import Reckoning
from fuzzed_limits.run import RANDOM_JOBS, compared

from gpupool.rehearsal.twin import Refusal

SEED = 1
# The share of the inventories that check must accept at least, and of the jobs that are accepted, and refused.
_SHARE = 0.2

DATA: dict[str, Any] = {
    "nodes": [{"name": "one", "gpus": {"a40": 8}}, {"name": "two", "gpus": {"a40": 4}}, {"name": "none"}],
    "accounts": [
        {"name": "red", "limits": {"group": {"gpu": 6}, "per_job": {"cpu": 8}}},
        {"name": "blue", "qos": ["chosen"], "limits": {"per_user": {"gpu": 5}}},
    ],
    "users": [
        {"name": "ann", "account": "red", "accounts": ["blue"]},
        {"name": "bob", "account": "red", "qos": ["chosen"]},
    ],
    "qos": {
        "normal": {"default": True, "limits": {"per_user": {"gpu": 4}}},
        "quick": {"max_wall": "4h", "limits": {"per_job": {"cpu": 4}, "per_user": {"mem": "32G"}}},
        "chosen": {"everybody": False, "max_wall": "2d"},
    },
    "partitions": [
        {"name": "all", "nodes": "one,two,none", "max_time": "1d"},
        {"name": "gpus", "nodes": "one", "max_time": "1d", "without_gpu": "refuse", "lift": ["per_user"]},
        {"name": "large", "nodes": "one", "max_time": "2d", "limits": {"per_job_least": {"gpu": 2}}},
        {"name": "wide", "nodes": "one", "max_time": "2d", "limits": {"per_job_least": {"mem": "20G"}}},
        {"name": "reds", "nodes": "two", "max_time": "2d", "allow_accounts": ["red"], "default_qos": "quick"},
        {"name": "others", "nodes": "two", "max_time": "2d", "deny_accounts": ["red"], "qos": ["normal"]},
        {"name": "few", "nodes": "two", "max_time": "1h", "limits": {"per_job": {"cpu": 2}, "per_user": {"gpu": 1}}},
    ],
    "scheduler": {"default_partition": "all"},
}


def _job(text: str) -> Job:
    """Return a job written in words of sbatch: `ann -p all,few --gpus=1`."""
    user, *words = text.split()
    options = dict(zip(words[::2], words[1::2], strict=True))
    return Job(
        user,
        tuple(options.get("-p", "").split(",")) if "-p" in options else (),
        options.get("-A"),
        options.get("-q"),
        int(options.get("-G", 0)),
        int(options.get("-n", 1)),
        int(options["-t"]) if "-t" in options else None,
        int(options.get("-m", 0)),
    )


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ("ann", ""),
        ("ann -G 4 -n 8 -t 24", ""),
        ("ann -G 5", "all: at most 4 GPUs"),
        ("ann -n 9", "all: at most 8 CPUs"),
        ("ann -t 25", "all: at most 24 hours"),
        ("ann -q quick -n 5", "all: at most 4 CPUs"),
        ("ann -q quick -t 5", "all: at most 4 hours"),
        ("ann -q chosen", "ann may not use QoS chosen"),
        ("ann -q chosen -A blue -G 5", ""),
        ("ann -q chosen -A blue -G 6", "all: at most 5 GPUs"),
        ("bob -q chosen -t 25", "all: at most 24 hours"),
        ("bob -q chosen -t 48 -p all,large -G 2", ""),
        ("ann -p gpus", "gpus: not without a GPU"),
        ("ann -p gpus -G 6", ""),
        ("ann -p gpus -G 7", "gpus: at most 6 GPUs"),
        ("ann -p gpus,all", ""),
        ("ann -p gpus,reds -n 5", "gpus: not without a GPU; reds: at most 4 CPUs"),
        ("ann -q quick -m 33", "all: at most 32 GiB"),
        ("ann -q quick -m 33 -p gpus -G 1", ""),
        ("ann -p large -G 1", "large: at least 2 GPUs"),
        ("ann -p wide", "wide: at least 20 GiB"),
        ("ann -p wide -m 40", ""),
        ("ann -p reds -t 5", "reds: at most 4 hours"),
        ("ann -p reds -t 5 -q normal", ""),
        ("ann -p reds,large -t 5 -G 2", ""),
        ("ann -p reds,large -t 5 -G 1", "reds: at most 4 hours; large: at least 2 GPUs"),
        ("ann -p reds,few -t 5", "reds: at most 4 hours; few: at most 1 hours"),
        ("ann -p reds -A blue", "reds: it does not admit account blue"),
        ("ann -p others", "others: it does not admit account red"),
        ("ann -p others -A blue -q quick", "others: it does not admit QoS quick"),
        ("ann -p few -n 3", "few: at most 2 CPUs"),
        ("bob -p few -q chosen -G 2", "few: at most 1 GPUs"),
        ("bob -p few,all -q chosen -G 2 -t 2", ""),
    ],
)
def test_the_words_of_an_inventory_say_which_jobs_are_accepted(asked: str, reason: str) -> None:
    assert "; ".join(Reckoning(DATA).reasons(_job(asked))) == reason


def test_a_seed_and_a_number_give_the_same_inventory_and_jobs() -> None:
    one, other = Made(SEED, 3), Made(SEED, 3)
    assert one.data == other.data
    assert list(jobs(one.data, one.pick, 9)) == list(jobs(other.data, other.pick, 9))
    assert one.data != Made(SEED, 4).data


def test_check_accepts_many_of_the_inventories_and_they_accept_some_jobs(tmp_path: Path) -> None:
    accepted, verdicts = list(islice(clusters(SEED, tmp_path), 6)), []
    assert len(accepted) > _SHARE * accepted[-1][0]
    for _, made, _ in accepted:
        reckoning = Reckoning(made.data)
        verdicts += [bool(reckoning.reasons(job)) for job in jobs(made.data, made.pick, RANDOM_JOBS)]
    assert _SHARE < sum(verdicts) / len(verdicts) < 1 - _SHARE


def test_a_difference_is_found_and_shown() -> None:
    asked = [_job("ann"), _job("ann -p few -n 3"), _job("ann -G 5"), _job("bob")]
    outcome = compared(Reckoning(DATA), asked, ["1", "2", Refusal("over"), Refusal("Invalid account")])
    assert (outcome.accepted, outcome.refused) == (2, 2)
    assert [str(difference) for difference in outcome.differences] == [
        "ann: sbatch --mem=10M -p few -n 3   by the inventory: few: at most 2 CPUs   by slurmctld: accepted as job 2",
        "bob: sbatch --mem=10M   by the inventory: accepted   by slurmctld: Invalid account",
    ]
