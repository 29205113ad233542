"""Slurm's files use an ability from the first release with it on, and an older release gets no word of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, get_args

import pytest
from inventories import SMALL, changed

from gpupool.cluster.model import Cluster
from gpupool.compile import files_for
from gpupool.compile.slurm.reservations import reservations
from gpupool.compile.system.packages import packages_for
from gpupool.errors import InventoryError
from gpupool.slurm.releases import KNOWN, RELEASES, SINCE, Ability, has

ADDED = "qos:\n  normal: {default: true}"
COURSE = "name: course, accounts: [red], gpus: {a40: 4}, partition: all, start: 2030-01-07 10:00, duration: 2h"
OVERCAP = "{name: overcap, nodes: '@compute', max_time: 1d, preemptable: true}"
NODE = "{name: gpu-3, address: 10.90.2.3, roles: [compute], hardware: plain, gpus: {v100: 8}}"


class Asked(NamedTuple):
    """A change of an inventory that asks for an ability; an older release refuses it."""

    old: str
    new: str


#: The words of each ability in what nodes get.
WORDS: Mapping[Ability, str] = {
    "rl_enable": "rl_enable",
    "PreemptParameters": "PreemptParameters=",
    "Shared of job_container.conf": "Shared=true",
    "cgroup/v2 by name": "CgroupPlugin=cgroup/v2",
    "Flags=explicit": "Flags=explicit",
    "sackd": "sackd",
    "reservations of gres": "gpus={'a40': 4}",
    "RestrictedCoresPerGPU": "RestrictedCoresPerGPU",
    "SystemdTimeout": "SystemdTimeout",
    "AutoDetect=nvidia": "AutoDetect=nvidia",
    "conmgr_max_connections": "conmgr_max_connections",
    "NamespaceType": "NamespaceType=namespace/tmpfs",
}
#: The words that a release with the ability replaces by those.
FORMER: Mapping[Ability, str] = {
    "PreemptParameters": "preempt_send_user_signal",
    "cgroup/v2 by name": "CgroupPlugin=autodetect",
    "NamespaceType": "JobContainerType=job_container/tmpfs",
}
#: How gpupool itself acts, or a twin: tests/unit/inventory, operations and rehearsal have their tests.
NOT_WRITTEN = {
    "hierarchical AllowAccounts",
    "sshare --json",
    "a process for each reconfigure",
    "CgroupPlugin=disabled",
    "ClusterID in the state",
}
REFUSED: Mapping[Ability, Asked] = {
    "Shared of job_container.conf": Asked(ADDED, f"environment: {{private_tmp: /local/jobs}}\n{ADDED}"),
    "Flags=explicit": Asked(ADDED, f"out_of_service: [{{nodes: gpu-2, gpus: [1], reason: a fan is broken}}]\n{ADDED}"),
    "reservations of gres": Asked(ADDED, f"reservations: [{{{COURSE}}}]\n{ADDED}"),
    "AutoDetect=nvidia": Asked("models: [V100]", "models: [V100], autodetect: nvidia"),
}
ALWAYS = (
    ("scheduler: {", "preemption: {send_user_signal: true}\nscheduler: {rpc_limit: {bucket: 30, refill: 2}, "),
    ("max_time: 2d", "max_time: 2d\n    tier: 10"),
    ("partitions:\n", f"partitions:\n  - {OVERCAP}\n"),
    ("gpu_types:\n", "gpu_types:\n  v100: {models: [V100]}\n"),
    ("hardware:\n", "hardware:\n  plain: {cpus: 64, memory: 512G, gpu_slots: 8}\n"),
    ("roles: [head, controller, database]", "roles: [controller, database]"),
    ("nodes:\n", f"nodes:\n  - {{name: login, address: 10.90.1.2, roles: [head]}}\n  - {NODE}\n"),
)


def with_release(release: str, folder: Path, *asked: Asked) -> Cluster:
    """Return a cluster with a release that has all that needs no ability, and these."""
    version = ("accounts:", f'slurm: {{version: "{release}"}}\naccounts:')
    return changed(SMALL, folder, version, *ALWAYS, *asked)


def words(cluster: Cluster) -> str:
    """Return the texts that Slurm gets: files and packages of all nodes, and reservations."""
    nodes = cluster.nodes.values()
    texts = [text for node in nodes for file in files_for(cluster, node) for text in (file.path, file.text)]
    packages = [name for node in nodes for name in packages_for(cluster, node)]
    return "\n".join((*texts, *packages, str(reservations(cluster))))


def test_each_ability_has_words_or_is_not_written() -> None:
    assert {*WORDS, *NOT_WRITTEN} == set(get_args(Ability))
    assert not NOT_WRITTEN & {*WORDS}


@pytest.mark.parametrize("release", KNOWN)
def test_an_ability_is_written_from_its_release_on_and_what_it_replaced_no_longer(release: str, tmp_path: Path) -> None:
    asked = [change for ability, change in REFUSED.items() if has(release, ability)]
    text = words(with_release(release, tmp_path, *asked))
    written = {ability: wanted in text for ability, wanted in WORDS.items()}
    assert written == {ability: has(release, ability) for ability in WORDS}
    replaced = {ability: former in text for ability, former in FORMER.items()}
    private_tmp = has(release, "Shared of job_container.conf")
    assert replaced == {
        ability: not has(release, ability) and (ability != "NamespaceType" or private_tmp) for ability in FORMER
    }


@pytest.mark.parametrize("ability", REFUSED)
def test_an_inventory_that_asks_an_older_release_for_an_ability_is_refused(ability: Ability, tmp_path: Path) -> None:
    older = RELEASES[RELEASES.index(SINCE[ability]) - 1]
    with pytest.raises(InventoryError, match=f"Slurm {older} "):
        with_release(older, tmp_path, REFUSED[ability])
