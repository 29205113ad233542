"""Packages of Slurm are data by their source: a node has those of the distribution or SchedMD's, never both."""

from pathlib import Path

from gpupool.distributions import slurm, tables
from gpupool.distributions.tables import distribution, distributions
from gpupool.tables import read


def test_the_table_of_schedmd_has_every_purpose_of_slurm_and_its_sources() -> None:
    table = read(Path(tables.__file__).parent / "schedmd" / "slurm.yml")
    assert set(table["packages"]) == slurm.PURPOSES
    assert set(table["source"]) == set(table["sources"])


def test_only_slurms_packages_depend_on_the_source() -> None:
    for system in distributions().values():
        own, upstream = (slurm.names(system, source, tables.PURPOSES) for source in ("distribution", "schedmd"))
        assert upstream - own == {name for names in slurm.schedmd().packages.values() for name in names}
        assert own - upstream == slurm.names(system, "distribution", slurm.PURPOSES)


def test_the_packages_of_one_source_keep_those_of_the_other_away() -> None:
    system = distribution("trixie")
    assert {"slurm-smd", "slurm-smd-sackd", "slurm-smd-slurmrestd"} < set(slurm.others(system, "distribution"))
    assert {"slurmd", "slurm-client", "slurm-wlm", "libpam-slurm-adopt"} < set(slurm.others(system, "schedmd"))
    for source, other in (("distribution", "schedmd"), ("schedmd", "distribution")):
        assert slurm.names(system, source, slurm.PURPOSES).isdisjoint(slurm.others(system, source))
        assert slurm.names(system, other, slurm.PURPOSES) <= set(slurm.others(system, source))


def test_the_release_is_asked_of_daemons_and_commands_of_every_source() -> None:
    names = slurm.programs(distribution("noble"))
    assert {"slurmctld", "slurm-client", "slurm-smd", "slurm-smd-slurmdbd"} < set(names)
    assert not [name for name in names if "pam" in name]
