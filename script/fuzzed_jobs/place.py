"""The twin on which jobs are tried: with or without the submit plugin and the guard, or with an older plugin."""

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from fuzz_plugin import rendered

from gpupool.cluster.model import Cluster
from gpupool.compile.programs import HOME
from gpupool.compile.slurm.arbiter import SETTINGS, UNIT
from gpupool.rehearsal.twin import Compiled, Twin, compiled, of_version
from gpupool.slurm.releases import Tested

from .cases import Cases
from .inside import NOTIFIED
from .inventory import cluster, inventory
from .reckoning import Reckoning

PLUGIN = "/etc/slurm/job_submit.lua"
_CONF = "/etc/slurm/slurm.conf"
_NO_RULE = """
function slurm_job_submit() return slurm.SUCCESS end
function slurm_job_modify() return slurm.SUCCESS end
return slurm.SUCCESS
"""
_GUARD = f"{HOME}/arbiter/guard.py"
#: Without bounds, the guard still corrects the nice values that wrapped.
_NO_NICE = "\n\ndef wrapped(jobs):\n    return []\n"
_FIELDS = r"""python3 - <<'END'
import re
data = open("/usr/bin/scontrol", "rb").read()
print(*sorted({name.decode() for name in re.findall(rb"\0([A-Z][A-Za-z]{2,24})(?=\0)", data)}))
END"""


@dataclass(frozen=True)
class Place:
    """The twin of a run: its release, the commit of its plugin, and what is left out (`plugin`, `guard`)."""

    version: Tested = "24.11"
    without: frozenset[str] = frozenset()
    plugin: str | None = None

    @property
    def title(self) -> str:
        """Return the release, the parts left out and the commit of the plugin as text."""
        parts = [f"Slurm {self.version}", *(f"without {part}" for part in sorted(self.without))]
        return ", ".join([*parts, *([f"plugin of {self.plugin[:8]}"] if self.plugin else [])])

    @property
    def left_out(self) -> Sequence[str]:
        """Return options that end slurmctld where the plugin does not refuse them: Slurm's own faults."""
        return ("spread-job", "nodes=0-1") if "plugin" in self.without or self.plugin else ()

    def files(self, cluster: Cluster) -> Compiled:
        """Return the files of this place."""
        whole = compiled(of_version(cluster, self.version))
        files = dict(whole.files)
        files[UNIT] = re.sub(r"^(Environment=.*)$", rf"\1 NOTIFY_SOCKET={NOTIFIED}", files[UNIT], flags=re.MULTILINE)
        if "guard" in self.without:
            settings = json.loads(files[SETTINGS])
            settings.pop("bounds", None)
            files[SETTINGS] = json.dumps(settings)
            files[_GUARD] += _NO_NICE
        if "plugin" in self.without:
            files[PLUGIN] = _NO_RULE
        elif self.plugin:
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                (folder / "inventory").mkdir()
                (folder / "inventory" / "inventory.yml").write_text(json.dumps(inventory()))
                [text] = rendered(self.plugin, [folder / "inventory"], folder)
            assert text
            files[PLUGIN] = text
        return replace(whole, files=files)


@contextmanager
def twin(place: Place, tell: Callable[[str], None]) -> Iterator[Twin]:
    """Start the twin of a place, and remove it at the end."""
    with tempfile.TemporaryDirectory() as name:
        whole = cluster(Path(name))
        with Twin.start(whole, place.files(whole), place.version, tell=tell) as started:
            yield started


def cases(twin: Twin, seed: int, without: Sequence[str] = ()) -> Cases:
    """Return the cases of a seed on a twin, with the options and fields of its programs."""
    listed = twin.run("sbatch --help; sbatch --usage").out
    fields = twin.run(_FIELDS).out.split()
    return Cases(twin.cluster, seed, listed, fields, without)


def reckoning(twin: Twin) -> Reckoning:
    """Return the limits of a twin's inventory."""
    return Reckoning(twin.cluster, twin.run(f"cat {_CONF}").out)
