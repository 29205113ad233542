"""The rollback of an upgrade whose slurmdbd could not convert its database, to the former packages and the backup."""

from functools import partial
from typing import cast

from gpupool.cluster.model import Cluster
from gpupool.distributions.slurm import names
from gpupool.errors import GpupoolError
from gpupool.facts.slurm_packages import FOLDER, release_of
from gpupool.rehearsal.twin.compiled import of_version
from gpupool.remote.controller import Controller, RefusedError
from gpupool.run.runner import DeployRunner
from gpupool.slurm.releases import KNOWN, Known
from gpupool.upgrade import steps

AGAIN = "fix it, then run the same command again"


class Rollback:
    """The rollback, from the files that the database's node keeps until the upgrade has ended."""

    def __init__(self, controller: Controller, runner: DeployRunner) -> None:
        self._controller, self._runner = controller, runner
        self._cluster = runner.target.cluster

    def was_interrupted(self) -> bool:
        """Return whether an earlier run was killed during its rollback."""
        return self._read("back") is not None

    def run(self) -> str:
        """Restore the former slurmdbd and its database; return a text on what was done. GpupoolError if that fails."""
        node = self._cluster.database
        backup, old = self._read("backup"), self._read("old/list")
        if not backup or not old:
            raise GpupoolError(
                f"{node.name}: cannot roll back: {FOLDER} does not have the former packages (see docs/upgrade.md)"
            )
        version = dict(line.split("=", 1) for line in old.splitlines())["slurmdbd"]
        name = backup.rpartition("/")[2]
        report = self._runner.deploy(
            partial(steps.back, self._former(release_of(version)), name), [node.name], execute=True
        )
        report.ensure_not_interrupted()
        if why := report.failures.get(node.name):
            raise GpupoolError(
                f"{node.name}: cannot roll back to slurmdbd {version} with {name}: {why}\n"
                f"jobs keep running, and slurmctld stores what slurmdbd has to record; {AGAIN}, or see docs/upgrade.md"
            )
        return (
            f"{node.name} has Slurm {version} again, and slurmdbd answers with the database of {name}; the "
            "partly converted one is kept as slurm_acct_db_aside_TIME in MariaDB. No other node changed, and no job "
            f"ended. Set slurm.version back to {release_of(version)}, or repair the database and run this again"
        )

    def former(self) -> Cluster | None:
        """Return the cluster with the release of the installed slurmdbd; None if that is already the new release."""
        release = self.release()
        return None if release in ("", self._cluster.slurm.version) else self._former(release)

    def _former(self, release: str) -> Cluster:
        known = release in KNOWN
        return of_version(self._cluster, cast(Known, release)) if known else self._cluster

    def release(self) -> str:
        """Return the release of the installed slurmdbd; "" if there is none."""
        node = self._cluster.database
        (package,) = names(node.system, self._cluster.slurm.packages, ["slurmdbd"])
        try:
            return release_of(self._controller.output_on(node.name, "dpkg-query", "-W", "-f=${Version}", package))
        except RefusedError:
            return ""

    def _read(self, name: str) -> str | None:
        try:
            return self._controller.output_on(self._cluster.database.name, "cat", f"{FOLDER}/{name}").strip()
        except RefusedError:
            return None
