"""A small model of slurmdbd: it accepts our commands as sacctmgr would, and refuses the same commands."""

from copy import deepcopy
from typing import Any

from gpupool.facts.accounting import empty
from gpupool.operations.accounting import Step
from gpupool.slurm.associations import associations
from gpupool.slurm.keys.limits import ASSOC_FIELDS, QOS_FIELDS, SET_AS, parse

_READ_AS = {written: field for field, written in SET_AS.items()} | {
    "GrpSubmitJobs": "GrpSubmit", "MaxSubmitJobs": "MaxSubmit", "MaxTRESPerJob": "MaxTRES",
    "MaxTRESMinsPerJob": "MaxTRESMins",
}  # fmt: skip


class Slurmdbd:
    """One cluster's part of slurmdbd, in the fact's shape; `direct`: account -> its directly assigned coordinators."""

    def __init__(self) -> None:
        self.held = empty() | {"jobs": []}
        self.direct: dict[str, set[str]] = {}

    def entities(self) -> dict[str, Any]:
        """Return the entities as the fact reads them: coordinators include those of the parents."""
        shown = deepcopy(self.held)
        for name, account in shown["accounts"].items():
            users: set[str] = set()
            above = name
            while above in shown["accounts"]:
                users |= self.direct.get(above, set())
                above = shown["accounts"][above]["parent"]
            account["coordinators"] = sorted(users)
        return shown

    def carry_out(self, step: Step) -> None:
        """Do the same as sacctmgr; an AssertionError is its refusal."""
        if step.arguments[0] == "load":
            self._load(step.text)
            return
        options = dict(word.split("=", 1) for word in step.arguments if "=" in word and "{}" not in word)
        do = getattr(self, f"_{step.arguments[0]}_{step.arguments[1]}")
        if step.arguments[1] == "coordinator":
            do(options["account"].split(","), set(step.names))
            return
        for name in step.names:
            do(name, options, step.settings)

    def _add_cluster(self, name: str, _options: Any, _settings: Any) -> None:
        self.held["cluster"].append(name)
        self.held["accounts"]["root"] = {"parent": "", **_defaults(ASSOC_FIELDS)}
        self.held["users"]["root"] = {
            "default_account": "root", "accounts": {"root": _defaults(ASSOC_FIELDS)}, "AdminLevel": "Administrator",
            "partitions": {},
        }  # fmt: skip

    def _modify_cluster(self, _name: str, _options: Any, settings: Any) -> None:
        self._merge(self.held["accounts"]["root"], settings)

    def _add_qos(self, name: str, _options: Any, settings: Any) -> None:
        assert name not in self.held["qos"]
        self.held["qos"][name] = _defaults(QOS_FIELDS)
        self._merge(self.held["qos"][name], settings)

    def _modify_qos(self, name: str, _options: Any, settings: Any) -> None:
        self._merge(self.held["qos"][name], settings)

    def _delete_qos(self, name: str, _options: Any, _settings: Any) -> None:
        associations = [*self.held["accounts"].values()]
        associations += [inside for user in self.held["users"].values() for inside in _all(user).values()]
        assert all(values["DefaultQOS"] != name for values in associations), f"{name} is a default QoS"
        del self.held["qos"][name]
        for values in (*associations, *self.held["qos"].values()):
            for field in ("QOS", "Preempt"):
                values[field] = [other for other in values.get(field, []) if other != name]

    def _add_account(self, name: str, options: Any, settings: Any) -> None:
        assert name not in self.held["accounts"]
        assert options["parent"] in self.held["accounts"]
        self.held["accounts"][name] = {"parent": options["parent"], **_defaults(ASSOC_FIELDS)}
        self._merge(self.held["accounts"][name], settings)

    def _modify_account(self, name: str, _options: Any, settings: Any) -> None:
        account = self.held["accounts"][name]
        self._merge(account, settings)
        above, seen = account["parent"], {name}
        while above:
            assert above not in seen, "an account below itself"
            seen.add(above)
            above = self.held["accounts"][above]["parent"]

    def _delete_account(self, name: str, options: Any, _settings: Any) -> None:
        assert name != "root"
        assert "cluster" in options or name not in self.held["elsewhere"], "another cluster has it"
        assert all(account["parent"] != name for account in self.held["accounts"].values()), "an account is below"
        users = self.held["users"].values()
        assert all(name != account for user in users for account, _ in _all(user)), "users are in it"
        assert all(account != name for account, _, _ in self.held["jobs"]), "it has jobs"
        del self.held["accounts"][name]
        self.direct.pop(name, None)

    def _modify_user(self, name: str, options: Any, settings: Any) -> None:
        user = self.held["users"][name]
        if "account" in options:
            for key in _matching(user, options):
                self._merge(_all(user)[key], settings)
            return
        ((field, value),) = (text.split("=", 1) for text in settings)
        if field == "DefaultAccount":
            assert value in {account for account, _ in _all(user)}
        user["default_account" if field == "DefaultAccount" else field] = value

    def _delete_user(self, name: str, options: Any, _settings: Any) -> None:
        assert name != "root"
        user, account = self.held["users"][name], options["account"]
        assert options["cluster"] == "gp"
        assert not any(job[:2] == [account, name] for job in self.held["jobs"]), "there are jobs"
        gone = _matching(user, options)
        assert gone, "nothing deleted"
        assert user["default_account"] != account or set(gone) == set(_all(user)), "the default account of a user"
        for of, partition in gone:
            if partition:
                del user["partitions"][of][partition]
            else:
                del user["accounts"][of]
        if not _all(user):
            del self.held["users"][name]
            for users in self.direct.values():
                users.discard(name)

    def _add_coordinator(self, accounts: list[str], users: set[str]) -> None:
        assert users <= set(self.held["users"])
        for account in accounts:
            assert account in self.held["accounts"]
            self.direct.setdefault(account, set()).update(users)

    def _delete_coordinator(self, accounts: list[str], users: set[str]) -> None:
        for user in users:
            assert any(user in self.direct.get(account, ()) for account in accounts), "nothing removed"
        for account in accounts:
            assert account not in self.held["elsewhere"]
            self.direct.get(account, set()).difference_update(users)

    def _load(self, text: str) -> None:
        account = ""
        for line in text.splitlines():
            what, _, rest = line.partition(" - ")
            name, *options = (part.replace("'", "") for part in rest.split("':"))
            name, given = name.replace("'", ""), dict(option.split("=", 1) for option in options)
            if what == "Parent":
                account = name
                assert account in self.held["accounts"]
            elif what == "User":
                fresh: dict[str, Any] = {
                    "default_account": None,
                    "accounts": {},
                    "AdminLevel": "None",
                    "partitions": {},
                }
                user = self.held["users"].setdefault(name, fresh)
                partition = given.pop("Partition", "")
                assert (account, partition) not in _all(user)
                inside = user["partitions"].setdefault(account, {}) if partition else user["accounts"]
                fields = inside[partition or account] = _defaults(ASSOC_FIELDS)
                user["default_account"] = given.pop("DefaultAccount", user["default_account"])
                self._merge(fields, [f"{field}={value}" for field, value in given.items()])

    def _merge(self, there: dict[str, Any], settings: Any) -> None:
        for text in settings:
            written, given = text.split("=", 1)
            field = _READ_AS.get(written, written)
            if field == "parent":
                assert given in self.held["accounts"]
                there["parent"] = given
            elif isinstance(there[field], dict):
                pairs = {name: int(value) for name, value in (pair.split("=") for pair in given.split(",") if pair)}
                there[field] = {name: value for name, value in {**there[field], **pairs}.items() if value != -1}
            else:
                there[field] = parse(field, given)
            if field in ("QOS", "Preempt"):
                assert set(there[field]) <= set(self.held["qos"])


def _all(user: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(account, partition): fields for account, partition, fields in associations(user)}


def _matching(user: dict[str, Any], options: dict[str, str]) -> list[tuple[str, str]]:
    """Return the account and the partition of a user's associations that a command changes or removes."""
    at = options.get("partition")
    return [key for key in _all(user) if key[0] == options["account"] and at in (None, key[1])]


def _defaults(fields: tuple[str, ...]) -> dict[str, Any]:
    return {field: parse(field, None) for field in fields}
