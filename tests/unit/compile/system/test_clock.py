"""The service that keeps the time: the distribution's, or the site's."""

from dataclasses import replace

from gpupool.cluster.model import Cluster
from gpupool.compile.system.packages import base_for, kept_for, packages_for, slurm_for
from gpupool.compile.units import units


def test_by_default_the_clock_is_the_distributions(skynet: Cluster) -> None:
    node = skynet.controllers[0]
    assert "systemd-timesyncd" in base_for(skynet, node)
    assert "systemd-timesyncd.service" in units(skynet, node)
    assert kept_for(skynet, node)["chrony"] == "software.clock: chrony"


def test_slurm_of_schedmd_is_never_removed_by_advice(skynet: Cluster) -> None:
    """Its packages conflict with the distribution's; a message that says to remove them would end a cluster."""
    key = kept_for(skynet, skynet.controllers[0])["slurm-smd-slurmctld"]
    assert key == "slurm.packages: schedmd, or managed: false at the node"


def test_a_site_keeps_its_clock(skynet: Cluster) -> None:
    site = replace(skynet, software=skynet.software.model_copy(update={"clock": "ntpsec"}))
    node = site.controllers[0]
    assert {"ntpsec", "systemd-timesyncd", "chrony"} & set(base_for(site, node)) == {"ntpsec"}
    assert {"ntpsec.service", "systemd-timesyncd.service"} & set(units(site, node)) == {"ntpsec.service"}
    assert "ntpsec" not in kept_for(site, node)


def test_slurms_packages_have_the_inventorys_release_and_others_none(skynet: Cluster) -> None:
    own = slurm_for(skynet, skynet.controllers[0])
    assert own["slurmctld"] == skynet.slurm.version
    assert not {"munge", "mariadb-server", "python3"} & set(own)


def test_slurms_packages_are_schedmds_where_the_inventory_says_so(skynet: Cluster) -> None:
    upstream = replace(skynet, slurm=skynet.slurm.model_copy(update={"packages": "schedmd"}))
    node = upstream.controllers[0]
    own = {"slurm-smd", "slurm-smd-client", "slurm-smd-slurmctld", "slurm-smd-slurmdbd"}
    assert set(slurm_for(upstream, node)) == own
    assert {name for name in packages_for(upstream, node) if name.startswith(("slurm", "libpam-slurm"))} == own
    assert {"munge", "mariadb-server"} <= set(base_for(upstream, node))
    kept = kept_for(upstream, node)
    assert {kept[name] for name in ("slurmctld", "slurm-client", "slurm-wlm-basic-plugins", "libpam-slurm-adopt")} == {
        "slurm.packages: distribution, or managed: false at the node"
    }
    assert not own & set(kept)
    assert "slurm-smd-slurmd" in packages_for(upstream, upstream.nodes["a40-01"])
