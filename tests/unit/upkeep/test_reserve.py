"""Root's reservation: exactly these nodes, updated and not created twice, and distinguished from those of users."""

import pytest
from fake_controller import FakeController

from gpupool.remote.controller import NoAnswerError, RefusedError
from gpupool.upkeep.reserve import Reservation, release, reservation, reserve

NAME = "gpupool_maintain"


def test_a_reservation_is_created_and_then_changed(fake: FakeController) -> None:
    one, two = fake.target.cluster.having("compute")
    reserve(fake, NAME, [one])
    start = int(fake.clock.now)
    fake.clock.sleep(60)
    reserve(fake, NAME, [one, two])
    assert fake.acts() == [
        f"scontrol create reservationname={NAME} starttime=now duration=infinite users=root "
        "flags=maint,ignore_jobs nodes=gpu-1",
        f"scontrol update reservationname={NAME} 'nodes=gpu-[1-2]'",
    ]
    assert reservation(fake, NAME) == Reservation(NAME, ("gpu-1", "gpu-2"), start)


def test_a_reservation_of_users_is_not_ours(fake: FakeController) -> None:
    assert reservation(fake, NAME) is None
    fake.slurm.reservations["course"] = (["gpu-2"], 1)
    assert reservation(fake, NAME) is None
    reserve(fake, NAME, [fake.target.cluster.nodes["gpu-1"]])
    ours = reservation(fake, NAME)
    assert ours
    assert ours.nodes == ("gpu-1",)
    release(fake, NAME)
    assert [*fake.slurm.reservations] == ["course"]


def test_a_reservation_is_removed_with_roots_jobs_and_a_second_removal_does_nothing(fake: FakeController) -> None:
    release(fake, NAME)
    assert fake.acts() == []
    reserve(fake, NAME, [fake.target.cluster.nodes["gpu-1"]])
    fake.slurm.run_job("gpu-1", "root").reservation = NAME
    fake.slurm.run_job("gpu-2")
    release(fake, NAME)
    assert fake.acts()[1:] == ["scancel 1", f"scontrol delete reservationname={NAME}"]
    assert [job.id for job in fake.slurm.jobs] == ["2"]


def test_a_refusal_of_slurmctld_is_an_error(fake: FakeController) -> None:
    del fake.slurm.nodes["gpu-1"]
    with pytest.raises(RefusedError, match="Invalid node name specified"):
        reserve(fake, NAME, [fake.target.cluster.nodes["gpu-1"]])
    fake.slurm.away = True
    with pytest.raises(NoAnswerError):
        reservation(fake, NAME)
