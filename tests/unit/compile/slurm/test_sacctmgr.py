"""Accounting entities in sacctmgr's notation: every limit of them, each once, and no others."""

import re
from typing import Any

import pytest
from inventories import INVENTORY, cluster_at

from gpupool.compile.slurm.accounting import entities
from gpupool.compile.slurm.sacctmgr import written

INVENTORIES = sorted(path.parent.name for path in INVENTORY.glob("*/inventory.py"))


def read(text: str) -> dict[tuple[str, str, str], dict[str, str]]:
    """Read the text by the rules of sacctmgr's load: by kind, name and parent; a quoted colon does not end a field."""
    found: dict[tuple[str, str, str], dict[str, str]] = {}
    parent = ""
    for line in text.splitlines():
        kind, name, rest = re.fullmatch(r"(\w+) - '([^']+)'(.*)", line).groups()  # type: ignore[union-attr]
        if kind == "Parent":
            parent = name
            # Slurm adds entities below existing ones
            assert name == "root" or any(key[:2] == ("Account", name) for key in found)
            continue
        fields = re.findall(r":(\w+)=(?:'([^']*)'|(\w+))(?=:|$)", rest)
        assert "".join(f":{key}=" + (f"'{quoted}'" if quoted else plain) for key, quoted, plain in fields) == rest
        assert (kind, name, parent) not in found
        found[kind, name, parent if kind in ("Account", "User") else ""] = {key: a or b for key, a, b in fields}
    return found


def words(fields: dict[str, Any]) -> list[str]:
    """Return the values that are set, as text."""
    values = [value for key, value in fields.items() if value not in (None, {}, []) and key != "exact"]
    return sorted(
        ",".join(f"{key}={number}" for key, number in sorted(value.items()))
        if isinstance(value, dict)
        else ",".join(value)
        if isinstance(value, list)
        else str(value)
        for value in values
    )


@pytest.mark.parametrize("name", INVENTORIES)
def test_every_entity_is_written_with_all_its_limits(name: str) -> None:
    wanted = entities(cluster_at(INVENTORY / name))
    found = read(written(wanted))
    assert found.pop(("Cluster", wanted["cluster"], "")) == {}
    for qos, fields in wanted["qos"].items():
        assert sorted(found.pop(("QOS", qos, "")).values()) == words(fields)
    leads = {(user, account) for account, fields in wanted["accounts"].items() for user in fields["coordinators"]}
    for account, fields in wanted["accounts"].items():
        own = {key: value for key, value in fields.items() if key not in ("parent", "coordinators")}
        assert sorted(found.pop(("Account", account, fields["parent"])).values()) == words(own)
    for user, fields in wanted["users"].items():
        for account, limits in fields["accounts"].items():
            row = found.pop(("User", user, account))
            assert {(user, word) for word in row.pop("Coordinator", "").split(",") if word} == {
                lead for lead in leads if lead[0] == user
            }
            assert row.pop("DefaultAccount") == fields["default_account"]
            assert sorted(row.values()) == words(limits)
    assert found == {}


def test_it_has_the_form_of_a_dump_of_sacctmgr() -> None:
    account = {
        "parent": "root",
        "coordinators": ["ada"],
        "GrpTRES": {"gres/gpu:a40": 4, "cpu": 64},
        "MaxWall": "2-00:00:00",
    }
    wanted = {
        "cluster": "gp",
        "qos": {"short": {"Priority": 0, "MaxWall": None, "GrpTRES": {}, "MaxSubmitPU": 7, "Flags": ["DenyOnLimit"]}},
        "accounts": {
            "kid": {"parent": "lab", "coordinators": [], "MaxTRES": {"node": 2}, "exact": False},
            "lab": account,
        },
        "users": {"ada": {"default_account": "lab", "accounts": {"lab": {"qos": ["b", "a"], "MaxSubmit": 9}}}},
    }
    assert written(wanted).splitlines() == [
        "QOS - 'short':Priority=0:MaxSubmitJobsPU=7:Flags='DenyOnLimit'",
        "Cluster - 'gp'",
        "Parent - 'root'",
        "Account - 'lab':GrpTRES='cpu=64,gres/gpu:a40=4':MaxWallDurationPerJob='2-00:00:00'",
        "Parent - 'lab'",
        "Account - 'kid':MaxTRESPerJob='node=2'",
        "User - 'ada':DefaultAccount='lab':Coordinator='lab':QOS='b,a':MaxSubmitJobs=9",
    ]
