"""A copy of the small inventory whose machines join and leave on models of slurmctld and of the DeployRunner."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from fake_controller import FakeController
from fake_runner import FakeRunner, Notes
from inventories import SMALL, copied
from ssh_server import new_key

from gpupool.cluster.load import load
from gpupool.facts.hardware import Machine
from gpupool.joining import written
from gpupool.joining.decide import MachineOptions
from gpupool.joining.host_key import Pins
from gpupool.joining.onboard import Onboarded, Onboarding
from gpupool.joining.prepare import Prepared, prepare
from gpupool.target import Target

NAME = "gpupool_onboarding"
NEW = "gpu-3"
ADDRESS = "10.90.2.3"
BOX = Machine(
    "x86_64", "", 64, 2, 16, 2, 515574, 448605, (("sda", 480_103_981_056),), ("NVIDIA A40",) * 8, (), ()
)  # fmt: skip


class Person:
    """Agrees to all host keys, or to none."""

    def __init__(self, agrees: bool = True) -> None:
        self.agrees = agrees

    def accepts(self, keys: Mapping[str, Sequence[str]]) -> Collection[str]:
        return [one for prints in keys.values() for one in prints if self.agrees]


class Site:
    """A copy of the small inventory, and machines that may join it."""

    def __init__(self, fake: FakeController, folder: Path, *changes: tuple[str, str]) -> None:
        self.folder = copied(SMALL, folder / "site", *changes)
        self.pins = Pins(folder / ".ssh" / "known_hosts", (ADDRESS,))
        self.pins.file.parent.mkdir(mode=0o700)
        (config := self.pins.file.with_name("config")).write_text(f"UserKnownHostsFile {self.pins.file}\n")
        config.chmod(0o600)
        cluster = load(self.folder)
        self.target = Target(cluster, None, {}, self.folder)
        fake.lead_to(self.target)
        self.fake, self.slurm, self.notes = fake, fake.slurm, Notes()
        self.runner = FakeRunner(self.target, "onboard")
        key = new_key(folder / "key")
        self.key = f"{key.get_name()} {key.get_base64()}"
        self.machines: dict[str, Machine | None] = {}
        self.text = self.written()

    def written(self) -> str:
        return "".join(file.read_text() for file in sorted(self.folder.glob("*.yml")))

    def prepare(
        self,
        *asked: str,
        hardware: str | None = None,
        network: int | None = None,
        replaces: bool = False,
        agrees: bool = True,
    ) -> Prepared:
        words = asked or (NEW, ADDRESS)
        options, person = MachineOptions(hardware, None, network), Person(agrees)
        original = written.read_original(self.folder)
        return prepare(self.fake, self.runner, original, words, options, on="nodes", replace=replaces, person=person)

    def onboard(self, *asked: str, network: int | None = None, replaces: bool = False) -> Onboarded:
        prepared = self.prepare(*asked, network=network, replaces=replaces)
        self.fake.lead_to(prepared.after)
        return Onboarding(self.fake, self.runner, self.notes, prepared).run()

    def runs(self) -> list[tuple[str, tuple[str, ...]]]:
        return [run for run in self.runner.runs if run[0] != "look at machines"]
