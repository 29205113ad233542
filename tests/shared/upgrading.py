"""An upgrade of the small cluster on models of slurmctld and of the DeployRunner, by default from 24.11 to 26.05."""

from typing import Any

from fake_controller import FakeController
from fake_runner import FakeHold, FakeRunner, Notes

from gpupool.facts.slurm_packages import FOLDER
from gpupool.upgrade.prepare import Prepared, prepare
from gpupool.upgrade.run import Upgrade

NODES = ("ctl", "gpu-1", "gpu-2")
DBD_FAILS = "The converted database: slurmdbd does not run: it ended"
SLURM = ("scheduler:", 'slurm: {version: "26.05", backup: {to: /srv/backup}}\nscheduler:')


class Run:
    """An upgrade between two versions that can be prepared and carried out."""

    def __init__(self, fake: FakeController, old: str = "24.11.5", new: str = "26.05.5") -> None:
        self.fake, self.slurm = fake, fake.slurm
        self._old, self._new = old, new
        self.slurm.config = self.slurm.config.replace("24.11.5", old)
        for node in self.slurm.nodes.values():
            node.version = old
        self.runner = FakeRunner(fake.target, "upgrade")
        self.notes, self.hold = Notes(), FakeHold()
        fake.packages["ctl slurmdbd"] = f"{old}-4"
        for name in NODES:
            self.runner.changes["look", name] = ["Packages | files for it", "Slurm | slurmd"]
        self.runner.effects["database"] = lambda _: self.fake.packages.update({"ctl slurmdbd": f"{new}-1"})
        self.runner.effects["apply"] = self._controllers
        self.runner.effects["change"] = self._changed

    def _controllers(self, names: tuple[str, ...]) -> None:
        if "ctl" in names:
            self.slurm.config = self.slurm.config.replace(self._old, self._new)

    def _changed(self, names: tuple[str, ...]) -> None:
        for name in names:
            if name in self.slurm.nodes:
                self.slurm.nodes[name].version = self._new

    def prepare(self) -> Prepared:
        return prepare(self.fake, self.runner)

    def __call__(self, at_most: int = 1) -> None:
        hold: Any = self.hold
        Upgrade(self.fake, self.runner, hold, self.notes, self.prepare()).run(at_most)

    def keep(self, **files: str) -> None:
        """Keep the files that a rollback needs on the node of the database."""
        names = {"old": "old/list"}
        for name, text in files.items():
            self.fake.files["ctl", f"{FOLDER}/{names.get(name, name)}"] = text

    def steps(self) -> list[tuple[str, tuple[str, ...]]]:
        """Return the runs that change something on nodes, in order."""
        return [run for run in self.runner.runs if run[0] not in ("look", "plan", "keep powered up")]
