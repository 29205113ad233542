"""`scontrol ping`, as a controller and its backup answer."""

from gpupool.slurm.ping import is_active


def test_the_active_controller_is_the_first_that_is_up() -> None:
    both = "Slurmctld(primary) at marvin is UP\nSlurmctld(backup) at vicki is UP\n"
    taken_over = both.replace("marvin is UP", "marvin is DOWN")
    assert (is_active(both, "marvin.cc.gatech.edu"), is_active(both, "vicki")) == (True, False)
    assert (is_active(taken_over, "marvin"), is_active(taken_over, "vicki")) == (False, True)
    assert not is_active(both.replace("UP", "DOWN"), "marvin")
    assert not is_active("", "marvin")
