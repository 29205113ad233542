"""The layers of tests: their commands, the cores they keep busy, and preparations they need."""

from collections.abc import Sequence
from dataclasses import dataclass

FULL = "GPUPOOL_TEST_FULL"  # the environment variable by which tests know that their long forms run
WORKERS = 6  # of the rehearsals: they mostly wait for Slurm, and more of them would only wait for each other


@dataclass(frozen=True)
class Layer:
    """One layer. `commands` run one after the other; `cores` is their load, as measured on two cores.

    `needs` are names of preparations. `tests` are the folders whose files may be selected individually; a layer without
    them runs completely or not at all. A `long` layer runs if it is named, or with `--full`.
    """

    name: str
    commands: Sequence[Sequence[str]]
    cores: float
    needs: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    long: bool = False

    @property
    def docker(self) -> bool:
        """Return whether it creates containers."""
        return "docker" in self.needs


def _pytest(*arguments: str) -> tuple[str, ...]:
    return ("pytest", "--sample", *arguments)


_FAULTS, _SKYNET = "tests/rehearsal/test_faults.py", "tests/rehearsal/test_skynet.py"
_REHEARSALS = ("-n", str(WORKERS), "--dist", "worksteal", "--ignore", _FAULTS, "--ignore", _SKYNET)
# the files in the order of collection: the longest first, even if it has few tests
_BY_FILE = ("--dist", "loadscope", "--no-loadscope-reorder")
_TESTBEDS = ("-n", "1", *_BY_FILE)
_GUIDES = ("-n", "4", "--dist", "loadscope", "--ignore", "tests/guides/test_skynet.py")

#: In the order in which they are reported.
LAYERS = (
    Layer("lint", (("script/lint",),), 1),
    Layer("unit", (_pytest("-n", "2", "--dist", "worksteal", "tests/unit"),), 1.6, tests=("tests/unit",)),
    Layer(
        "operations",
        (_pytest("tests/operations", "tests/facts", "tests/engine"),),
        0.6,
        tests=("tests/operations", "tests/facts", "tests/engine"),
    ),
    Layer("roles", (_pytest("tests/roles"),), 1, tests=("tests/roles",)),
    Layer("fuzz", (_pytest("tests/fuzz"),), 1),
    Layer("wheel", (_pytest("tests/wheel"),), 1),
    Layer(
        "rehearsal",
        (_pytest(*_REHEARSALS, "tests/rehearsal"),),
        1,
        ("docker", "twin-24.11", "twin-22.05", "twin-26.05", "chromium"),
    ),
    # these tests mostly wait for the effect of a fault
    Layer("faults", (_pytest("-n", str(WORKERS), "--dist", "worksteal", _FAULTS),), 0.6, ("docker", "twin-24.11")),
    Layer("fullsize", (_pytest(_SKYNET),), 0.8, ("docker", "twin-24.11"), long=True),
    # SkyNet's guide is typed on the testbed that this layer deploys; a second worker would deploy another
    Layer("testbed", (_pytest(*_TESTBEDS, "tests/testbed", "tests/guides/test_skynet.py"),), 0.9, ("docker",)),
    # a cluster for each file, three at a time
    Layer("day2", (_pytest("-n", "3", *_BY_FILE, "tests/day2"),), 1, ("docker", "twin-24.11")),
    Layer("driver", (_pytest("tests/driver"),), 1, ("docker",), long=True),
    # a worker for each cluster: its tests mostly wait for Slurm
    Layer("guides", (_pytest(*_GUIDES, "tests/guides"),), 1, ("docker",)),
    Layer("deploy", (_pytest("tests/deploy"),), 0.7, ("docker",)),
    Layer("molecule", (_pytest("tests/molecule"), ("molecule", "test")), 0.7, ("docker",)),
    Layer("vm", (_pytest("tests/vm"),), 1.3, ("docker", "machines"), long=True),
)

#: Start even while cores are reserved for layers that are not ready: these find most faults, and are over soon.
QUICK = ("lint", "unit", "operations", "roles")

#: The order in which they start, each as soon as there is room: the longest first, then the layers that find most
#: faults.
BEGIN = (
    *("testbed", "vm", *QUICK),
    *("day2", "guides", "faults", "rehearsal", "driver", "deploy", "fullsize", "molecule", "fuzz", "wheel"),
)
