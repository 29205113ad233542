"""A maintenance of the small cluster on models of slurmctld and of the DeployRunner."""

from typing import Any

from fake_controller import FakeController
from fake_runner import FakeHold, FakeRunner, Notes

from gpupool.upkeep.choice import chosen
from gpupool.upkeep.maintain import Maintenance
from gpupool.upkeep.packages import Scope
from gpupool.upkeep.prepare import Prepared, prepare
from gpupool.upkeep.waves import Bounds, MaintenanceOptions

NAME = "gpupool_maintain"
ONE, TWO = "gpu-1", "gpu-2"


class Run:
    """A maintenance that can be prepared and carried out."""

    def __init__(self, fake: FakeController) -> None:
        self.fake, self.slurm, self.clock = fake, fake.slurm, fake.clock
        self.runner = FakeRunner(fake.target, "maintain")
        self.notes, self.hold = Notes(), FakeHold()
        for name in (ONE, TWO):
            self.runner.changes["plan", name] = ["Slurm configuration", "GPU driver"]

    def prepare(self, selector: str = "@compute", **options: Any) -> Prepared:
        wanted = self._options(**options)
        return prepare(self.fake, self.runner, chosen(self.fake.target, selector), wanted)

    def __call__(self, selector: str = "@compute", **options: Any) -> dict[str, tuple[str, str]]:
        """Return the phase of each node and the reason at the end."""
        self.prepared = self.prepare(selector, **options)
        hold: Any = self.hold
        Maintenance(self.fake, self.runner, hold, self.notes, self.prepared, self._options(**options)).run()
        return {name: (progress.phase, progress.why) for name, progress in self.prepared.progress.items()}

    def _options(
        self,
        at_most: int = 1,
        per_lab: int | None = None,
        reboot: bool = False,
        patience: float | None = None,
        packages: Scope | None = None,
    ) -> MaintenanceOptions:
        return MaintenanceOptions(Bounds(at_most, per_lab), reboot, patience, packages)

    def applied(self) -> list[tuple[str, ...]]:
        return [nodes for what, nodes in self.runner.runs if what == "apply"]

    def left_behind(self) -> tuple[object, ...]:
        reasons = [node.reason for node in self.slurm.nodes.values() if node.reason]
        return (self.slurm.reservations, self.slurm.partitions, reasons, [*filter(None, self.fake.files.values())])
