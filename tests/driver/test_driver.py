"""The GPU driver on a plain Debian: really installed, its module built, and kept whatever else is upgraded.

A container has no GPU and may not load modules: the steps after the installation are tested with fake commands in
tests/operations/test_driver_for_real.py.
"""

from collections.abc import Iterator
from dataclasses import replace

import inventories
import pytest
from origin import ORIGIN

from gpupool.compile.system.driver import CHECK, PINS
from gpupool.compile.system.repositories import COMPONENTS
from gpupool.engine.current import cluster_and_node
from gpupool.engine.drive import Report, run
from gpupool.roles import driver
from gpupool.target import Target, find_target
from gpupool.testbed.vm.recipe import COMPILER, MAKE_FLAGS, PACK_QUICKLY
from tests.testbed.cluster import Testbed, gpupool

NODE = "gpu-1"
NETWORK = "10.174.0.0/16"
VERSION = "550.163.01-2"
CUDA = f'software: {{cuda: {{where: "@compute", driver_branch: "550", version: {VERSION}}}}}\n'
#: Removes the components contrib and non-free from apt's sources: a plain Debian has only main.
MAIN_ALONE = (
    "sed -i -E 's/ (contrib|non-free-firmware|non-free)//g' $(ls /etc/apt/sources.list /etc/apt/sources.list.d/*); "
    "apt-get update"
)

#: Upgrades only the driver, and tzdata, from sid: a new compiler would build the module once more.
NEWER = """\
Package: *
Pin: release n=sid
Pin-Priority: 50

Package: src:nvidia-* src:tzdata
Pin: release n=sid
Pin-Priority: 990
"""

#: Lets modules build as quickly as on virtual machines. PAM sets /etc/environment in each session, also for apt.
FAST_BUILDS = f'echo "{MAKE_FLAGS}" >> /etc/environment; {PACK_QUICKLY}'
#: A faster wrapper that is earlier in PATH than /usr/bin, which has the compiler of trixie's kernels.
QUICK_COMPILER = "/usr/local/bin/x86_64-linux-gnu-gcc-14"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """A node with only Debian's main, treated as a machine with real GPUs."""
    inventory = inventories.copied(inventories.SMALL, tmp_path_factory.mktemp("driver") / "driver")
    file = inventory / "inventory.yml"
    # another name: other tests may have a testbed of this inventory
    file.write_text(file.read_text().replace("name: small", "name: driver", 1) + CUDA)
    done = gpupool("testbed", "up", inventory, "--network", NETWORK, "--bare")
    assert done.returncode == 0, done.stderr
    target = find_target(inventory, "testbed")
    cluster = replace(target.cluster, drivers=replace(target.cluster.drivers, gpu="nvidia"))
    testbed = Testbed(inventory, Target(cluster, target.testbed, target.ssh))
    testbed.out(NODE, f"cat > {QUICK_COMPILER}; chmod 755 {QUICK_COMPILER}", text=COMPILER)
    testbed.out(NODE, f"{FAST_BUILDS}; {MAIN_ALONE}")
    yield testbed
    gpupool("testbed", "down", inventory)


def applied(testbed: Testbed) -> Report:
    """Apply only the role, on one node."""

    def deploy() -> None:
        driver.apply(*cluster_and_node())

    return run(testbed.target.hosts, deploy, execute=True, origin=ORIGIN, limit=[NODE])


def versions(testbed: Testbed) -> dict[str, str]:
    """Return the installed packages of the driver, with apt's selection state: h for hold."""
    form = "${db:Status-Abbrev} ${Package} ${Version}\\n"
    lines = testbed.out(NODE, f"dpkg-query -W -f '{form}' '*nvidia*' libcuda1").splitlines()
    rows = [line.split() for line in lines if line[1:2] == "i"]
    return {name: f"{state[0]} {version}" for state, name, version in rows}


def test_the_pinned_driver_is_installed_and_held(bare: Testbed) -> None:
    report = applied(bare)
    assert not report.failures, report.failures
    there = versions(bare)
    for name in ("nvidia-kernel-dkms", "nvidia-smi", "libcuda1", "libnvidia-ml1"):
        assert there[name] == f"h {VERSION}"
    assert {"nvidia-persistenced", "nvidia-modprobe"} <= set(there)
    assert "xserver-xorg-core" not in bare.out(NODE, "dpkg-query -W -f '${Package}\\n'").split()
    assert "non-free" in bare.out(NODE, f"cat {COMPONENTS}")


def test_a_second_apply_changes_nothing(bare: Testbed) -> None:
    report = applied(bare)
    assert not report.failures, report.failures
    assert not report.hosts[NODE].changes


def test_its_module_is_built_for_the_kernel_of_debian(bare: Testbed) -> None:
    kernel = bare.out(NODE, "ls -d /lib/modules/*/build | cut -d/ -f4 | sort -V | tail -n 1")
    bare.out(NODE, f"dkms autoinstall -k {kernel}")
    assert bare.out(NODE, f"ls /lib/modules/{kernel}/updates/dkms/nvidia-current.ko*")


def test_the_hold_survives_an_upgrade_of_the_system(bare: Testbed) -> None:
    before = versions(bare)
    # sid has newer revisions of the same driver, and trixie has the libraries that it needs
    newer = "sed 's/^Suites: .*/Suites: sid/' > /etc/apt/sources.list.d/newer.sources"
    bare.out(NODE, f"awk 'BEGIN {{ RS = \"\" }} /Suites: trixie\\n/' {COMPONENTS} | {newer}")
    bare.out(NODE, "cat > /etc/apt/preferences.d/newer", text=NEWER)
    bare.out(NODE, f"rm {PINS}; apt-get update")
    without_hold = bare.out(NODE, "apt-get --simulate --ignore-hold dist-upgrade")
    assert f"Inst nvidia-smi [{VERSION}] (550.163.01-" in without_hold, "sid has a newer driver"
    bare.out(NODE, "DEBIAN_FRONTEND=noninteractive apt-get --yes --quiet dist-upgrade")
    after = versions(bare)
    held = {name: state for name, state in before.items() if state.startswith("h ")}
    assert held
    assert {name: after.get(name) for name in held} == held


def test_the_check_of_gpus_reports_that_no_driver_is_loaded(bare: Testbed) -> None:
    done = bare.run(NODE, CHECK)
    assert (done.returncode, done.stdout) == (1, "gpupool: no NVIDIA driver is loaded\n"), done.stderr
