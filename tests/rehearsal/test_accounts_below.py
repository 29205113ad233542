"""Access by a partition's accounts: from Slurm 24.11, the setting of an account applies to the accounts below it."""

from pathlib import Path

import pytest
from inventories import SMALL, changed

from gpupool.rehearsal.twin import Ask, Refusal, Twin, compiled, of_version
from gpupool.slurm.releases import Tested

SAID = (
    ("users:\n", "  - {name: guests, kind: group, limits: {group: {gpu: 0}}}\n"
     "  - {name: phd, kind: group, parent: guests}\nusers:\n  - {name: bob, uid: 20002, account: phd}\n"),
    ("partitions:\n", "partitions:\n  - {name: ours, nodes: '@compute', max_time: 1d, allow_accounts: [guests]}\n"
     "  - {name: theirs, nodes: '@compute', max_time: 1d, deny_accounts: [guests]}\n"),
)  # fmt: skip


@pytest.mark.parametrize(("version", "holds_below"), [("22.05", False), ("24.11", True)])
def test_the_access_of_an_account_applies_below_it_from_24_11_on(
    apart: None, tmp_path: Path, version: Tested, holds_below: bool
) -> None:
    cluster = of_version(changed(SMALL, tmp_path, *SAID), version)
    with Twin.start(cluster, compiled(cluster), version) as twin:
        ours, theirs = twin.submit([Ask("bob", ("-p", partition, "--mem=10M")) for partition in ("ours", "theirs")])
    assert isinstance(ours, Refusal) is not holds_below, ours
    assert isinstance(theirs, Refusal) is holds_below, theirs
